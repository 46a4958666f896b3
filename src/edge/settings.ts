import * as z from "zod";
import { ByrefError } from "../errors.ts";
import { isObject } from "../value/json.ts";

const json = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: "custom", message: "is not JSON" });
        return z.NEVER;
      }
    })
    .pipe(schema);

/** Says nothing of what it was given: keys are in there. */
const apiKeys = z.custom<Readonly<Record<string, string>>>(
  (value) =>
    isObject(value) &&
    Object.entries(value).every(
      ([key, tenant]) => key.length >= MIN_KEY_CHARS && typeof tenant === "string" && tenant !== "",
    ),
  { error: 'must be JSON: {"<key of at least 16 characters>": "<tenant>"}' },
);
const MIN_KEY_CHARS = 16;

const MCP_NAME = "must be a name of up to 32 letters, digits and _, a letter first";
const MCP_URL = "must be a URL, http or https";
const mcpLabels = z.strictObject({
  sealed: z.boolean().optional(),
  trusted: z.boolean().optional(),
  approval: z.boolean().optional(),
});

/** Its messages say nothing of what was given: keys are in there. */
const mcpServers = z
  .array(
    z.strictObject({
      name: z.string({ error: MCP_NAME }).regex(/^[A-Za-z]\w{0,31}$/, MCP_NAME),
      url: z
        .url({ protocol: /^https?$/, error: MCP_URL, abort: true })
        .refine((url) => new URL(url).username + new URL(url).password === "", {
          error: "must hold no user and password: put them into headers",
        }),
      headers: z
        .custom<Readonly<Record<string, string>>>(isHeaders, {
          error: 'must be of the form {"<name>": "<value>"}',
        })
        .optional(),
      agents: z.array(z.string()).optional(),
      tools: z.record(z.string(), mcpLabels).optional(),
    }),
    { error: 'must be a JSON array: [{"name": "<name>", "url": "<url>"}]' },
  )
  .refine((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, {
    error: "must give each server a name of its own",
  });

/** What `fetch` takes as a header. */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

function isHeaders(value: unknown): boolean {
  return (
    isObject(value) &&
    Object.entries(value).every(
      ([name, text]) =>
        HEADER_NAME.test(name) && typeof text === "string" && HEADER_VALUE.test(text),
    )
  );
}

const MODEL = /^(?:demo|(?:openai-compatible|workers-ai|anthropic|openai):.+)$/;
const MODEL_FORMS =
  "demo, anthropic:<model>, openai:<model>, openai-compatible:<model> or workers-ai:<model>";

/** Every setting of the Worker: variables and secrets, all of them text. */
export const settingsSchema = z
  .object({
    MODEL: z
      .string()
      .regex(MODEL, `must be ${MODEL_FORMS}`)
      .default("demo")
      .describe(`The language model: ${MODEL_FORMS}`),
    MODEL_BASE_URL: z
      .url({ protocol: /^https?$/, error: "must be the endpoint's URL, /v1 included" })
      .optional()
      .describe("The model's endpoint, /v1 included; anthropic and openai have one of their own"),
    MODEL_API_KEY: z
      .string()
      .min(1)
      .optional()
      .describe("The key of that endpoint; anthropic and openai need one"),
    INSTRUCTIONS: z.string().optional().describe("Put in front of every agent's instructions"),
    AGENT: z.string().optional().describe("The agent that answers when a request names none"),
    AUTH: z
      .enum(["none", "bearer"], { error: "must be none or bearer" })
      .optional()
      .describe("Who may come in; unset, nobody"),
    API_KEYS: json(apiKeys).optional().describe('With AUTH=bearer: {"<key>": "<tenant>"}'),
    MCP_SERVERS: json(mcpServers)
      .optional()
      .describe(
        "MCP servers whose tools the agents have: [{name, url, headers?, agents?, tools?}]",
      ),
    LOCAL_SECRET: z
      .string()
      .optional()
      .describe("With AUTH=none: what the listener in front sends along; npm start makes one"),
    CORS_ORIGINS: z.string().optional().describe("Origins that may call from a browser, by comma"),
  })
  .superRefine((settings, context) => {
    const need = (name: keyof typeof settings, why: string) =>
      context.addIssue({ code: "custom", path: [name], message: `must be set: ${why}` });
    if (settings.MODEL.startsWith("openai-compatible:") && settings.MODEL_BASE_URL === undefined) {
      need("MODEL_BASE_URL", "an openai-compatible model needs its endpoint");
    }
    const keyed = /^(?:anthropic|openai):/.exec(settings.MODEL)?.[0].slice(0, -1);
    if (keyed !== undefined && settings.MODEL_API_KEY === undefined) {
      need("MODEL_API_KEY", `an ${keyed} model needs a key`);
    }
    if (settings.AUTH === "bearer" && settings.API_KEYS === undefined) {
      need("API_KEYS", 'AUTH=bearer needs keys, as JSON: {"<key>": "<tenant>"}');
    }
  });

export type Settings = z.infer<typeof settingsSchema>;

/** The names of all settings; nothing else of an environment reaches the Worker. */
export const settingNames: readonly string[] = Object.keys(settingsSchema.shape);

/** The settings, checked. Throws `bad_configuration`, which says what to set; never a value. */
export function readSettings(env: Readonly<Record<string, unknown>>): Settings {
  const given = settingNames.filter((name) => typeof env[name] === "string" && env[name] !== "");
  const result = settingsSchema.safeParse(
    Object.fromEntries(given.map((name) => [name, env[name]])),
  );
  if (result.success) return result.data;
  const said = result.error.issues.map(
    ({ path, message }) => `${path.map(String).join(".")} ${message}`,
  );
  throw new ByrefError("bad_configuration", `${said.join("; ")}.`);
}

const known = new WeakMap<object, Settings>();

/** The same for the Worker's own environment, which stays as it is. */
export function settingsOf(env: object): Settings {
  const settings = known.get(env) ?? readSettings({ ...env });
  known.set(env, settings);
  return settings;
}
