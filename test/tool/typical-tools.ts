import { jsonSchema, type ToolSet } from "ai";
import * as z from "zod";

const money = z.object({ amount: z.number().min(0), currency: z.enum(["EUR", "USD", "GBP"]) });
const address = z.object({
  street: z.string(),
  city: z.string(),
  zip: z.string().regex(/^\d{4,6}$/),
  country: z.string().length(2).describe("ISO 3166-1 alpha-2"),
});
interface Node {
  readonly name: string;
  readonly children?: readonly Node[] | undefined;
}
const tree: z.ZodType<Node> = z.lazy(() =>
  z.object({ name: z.string(), children: z.array(tree).optional() }),
);

function shown(description: string, inputSchema: z.ZodType): ToolSet[string] {
  return { description, inputSchema } as ToolSet[string];
}

/** Creates a tool like those of MCP servers: draft 2020-12, with the typical output of schema generators. */
function fromServer(description: string, schema: object): ToolSet[string] {
  return { description, inputSchema: jsonSchema(schema) } as ToolSet[string];
}

/** Twenty tools that are typical of agents, from one text parameter to generated schemas. */
export const typicalTools: ToolSet = {
  get_weather: shown(
    "The weather at a place.",
    z.object({ location: z.string().describe("A city") }),
  ),
  compare_weather: shown(
    "Compares two reports.",
    z.object({
      first: z.object({ city: z.string(), temperature: z.number() }),
      second: z.object({ city: z.string(), temperature: z.number() }),
    }),
  ),
  web_search: shown(
    "Searches the web.",
    z.object({
      query: z.string().min(1).max(400),
      count: z.number().int().min(1).max(20).default(10),
      freshness: z.enum(["day", "week", "month", "year"]).optional(),
      safe: z.boolean().default(true),
    }),
  ),
  fetch_page: shown(
    "Reads a page.",
    z.object({ url: z.url(), format: z.enum(["markdown", "text", "html"]).default("markdown") }),
  ),
  send_email: shown(
    "Sends a mail.",
    z.object({
      to: z.array(z.email()).min(1).max(50),
      cc: z.array(z.email()).optional(),
      subject: z.string().max(200),
      body: z.string(),
      attachments: z.array(z.object({ name: z.string(), content: z.unknown() })).optional(),
    }),
  ),
  query_database: shown(
    "Runs a query.",
    z.object({
      sql: z.string(),
      parameters: z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])).default([]),
      limit: z.number().int().positive().max(10_000).default(100),
    }),
  ),
  create_event: shown(
    "Puts an event into the calendar.",
    z.object({
      title: z.string(),
      start: z.iso.datetime(),
      end: z.iso.datetime(),
      attendees: z.array(z.object({ email: z.email(), optional: z.boolean().default(false) })),
      repeat: z
        .object({ every: z.enum(["day", "week"]), times: z.number().int().min(1) })
        .nullable()
        .optional(),
    }),
  ),
  create_order: shown(
    "Orders for a customer.",
    z.object({
      customerId: z.uuid(),
      lines: z.array(
        z.object({ sku: z.string(), quantity: z.number().int().min(1), price: money }),
      ),
      shipTo: address,
      billTo: address.optional(),
      note: z.string().optional(),
    }),
  ),
  refund: shown(
    "Pays back.",
    z.object({ orderId: z.string(), amount: money, reason: z.literal("damaged").or(z.string()) }),
  ),
  plot: shown(
    "Draws a chart.",
    z.object({
      kind: z.enum(["line", "bar", "scatter"]),
      series: z.array(
        z.object({ name: z.string(), points: z.array(z.tuple([z.number(), z.number()])) }),
      ),
      size: z.tuple([z.number(), z.number()]).optional(),
    }),
  ),
  draw_shape: shown(
    "Draws.",
    z.object({
      shape: z.discriminatedUnion("type", [
        z.object({ type: z.literal("circle"), radius: z.number() }),
        z.object({ type: z.literal("square"), side: z.number() }),
      ]),
      color: z.string().regex(/^#[0-9a-f]{6}$/),
    }),
  ),
  set_labels: shown(
    "Sets labels.",
    z.object({ id: z.string(), labels: z.record(z.string(), z.string()) }),
  ),
  set_metrics: shown("Sets numbers.", z.object({ values: z.record(z.string(), z.number()) })),
  save_outline: shown("Saves a tree.", z.object({ root: tree })),
  no_parameters: shown("Says what time it is.", z.object({})),
  transform_rows: shown(
    "Filters and sorts rows.",
    z.object({
      rows: z.array(z.record(z.string(), z.unknown())),
      where: z
        .array(
          z.object({
            field: z.string(),
            operator: z.enum(["=", "<", ">", "in"]),
            value: z.union([z.string(), z.number(), z.array(z.string())]),
          }),
        )
        .optional(),
      sortBy: z.array(z.object({ field: z.string(), descending: z.boolean() })).optional(),
    }),
  ),
  github_create_issue: fromServer("Opens an issue.", {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      owner: { type: "string", description: "Owner" },
      repo: { type: "string" },
      title: { type: "string", minLength: 1 },
      labels: { type: "array", items: { type: "string" }, uniqueItems: true },
      milestone: { type: ["integer", "null"], minimum: 1 },
    },
    required: ["owner", "repo", "title"],
    additionalProperties: false,
  }),
  filesystem_edit: fromServer("Edits a file.", {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      path: { type: "string" },
      edits: { type: "array", items: { $ref: "#/$defs/edit" } },
      dryRun: { type: "boolean", default: false },
    },
    required: ["path", "edits"],
    $defs: {
      edit: {
        type: "object",
        properties: { oldText: { type: "string" }, newText: { type: "string" } },
        required: ["oldText", "newText"],
      },
    },
  }),
  maps_route: fromServer("Finds a way.", {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      from: {
        anyOf: [
          { type: "string" },
          {
            type: "array",
            prefixItems: [{ type: "number" }, { type: "number" }],
            minItems: 2,
            items: false,
          },
        ],
      },
      to: { type: "string" },
      mode: { enum: ["walk", "drive"], type: "string", default: "walk" },
      avoid: { type: "object", additionalProperties: { type: "boolean" } },
    },
    required: ["from", "to"],
  }),
  crm_search: fromServer("Searches customers.", {
    type: "object",
    properties: {
      filter: {
        type: "object",
        allOf: [
          { type: "object", properties: { status: { type: "string", enum: ["open", "closed"] } } },
          { type: "object", properties: { minTotal: { type: "number", minimum: 0 } } },
        ],
      },
      page: { type: "integer", minimum: 1, default: 1 },
      orderBy: {
        oneOf: [
          { type: "string", const: "name" },
          { type: "string", const: "total" },
        ],
      },
    },
  }),
};
