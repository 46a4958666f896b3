import * as limits from "../../../../src/limits.ts";
import { Content } from "../../../../src/store/bytes/content.ts";
import { asSchema } from "ai";
import { describe, expect, it } from "vitest";
import { McpDirectory } from "../../src/agents/mcp-servers.ts";
import {
  type Result,
  type RunningMcpServer,
  structured,
  textResult,
} from "../../../../test/support/mcp-server.ts";
import {
  endServersAfterEach,
  offering,
  open,
  run,
  start,
} from "../../../../test/support/mcp-tools.ts";
import { fitScalars } from "../../src/servers/fit-scalars.ts";
import { parseExactly } from "../../../../src/value/exact-number.ts";

endServersAfterEach();

/** Calls the tool of a server that returns this result, and returns the value for the agent. */
async function valueOf(result: Result): Promise<unknown> {
  const { url } = await start([offering("act", result)]);
  const tools = await open(new McpDirectory(), [{ name: "one", url }]);
  return run(tools, "act");
}

describe("an agent with an MCP server", () => {
  it("gets the tools with the server's descriptions and schemas", async () => {
    const inputSchema = {
      type: "object" as const,
      properties: { id: { type: "integer" } },
      required: ["id"],
    };
    const { url } = await start([{ ...offering("get_order"), description: "One.", inputSchema }]);
    const [directory, servers] = [new McpDirectory(), [{ name: "shop", url }]];
    const { tools } = await open(directory, servers);
    expect(tools.get_order?.description).toBe("One.");
    const { jsonSchema } = asSchema(tools.get_order?.inputSchema);
    expect(jsonSchema).toMatchObject(inputSchema);
    // The same object in each turn: what a model is shown of it is made once.
    const next = await open(directory, servers);
    expect(asSchema(next.tools.get_order?.inputSchema).jsonSchema).toBe(jsonSchema);
  });

  it.each([{}, { sessions: true }, { json: true }, { sessions: true, json: true }])(
    "passes the input unchanged and returns the value (%o)",
    async (options) => {
      const server = await start([offering("act", structured({ total: 3 }))], options);
      const tools = await open(new McpDirectory(), [{ name: "one", url: server.url }]);
      const input = { text: "ä $x 😀", list: [1, null, { deep: true }] };
      expect(await run(tools, "act", { input })).toEqual({ total: 3 });
      expect(server.calls).toEqual([{ tool: "act", input }]);
    },
  );

  it("derives effects from the annotations", async () => {
    const { url } = await start([
      { ...offering("read"), annotations: { readOnlyHint: true, idempotentHint: true } },
      { ...offering("put"), annotations: { idempotentHint: true } },
      { ...offering("add"), annotations: { readOnlyHint: false } },
      offering("silent"),
    ]);
    const { effects } = await open(new McpDirectory(), [{ name: "one", url }]);
    expect(effects).toEqual({ read: "none", put: "idempotent", add: "once", silent: "once" });
  });
});

it("names stay the server's own while they are unique", async () => {
  const one = await start([offering("list"), offering("get_a")]);
  const two = await start([offering("list"), offering("get_b")]);
  const tools = await open(new McpDirectory(), [
    { name: "one", url: one.url },
    { name: "two", url: two.url },
  ]);
  expect(Object.keys(tools.tools)).toEqual(["one_list", "get_a", "two_list", "get_b"]);
  await run(tools, "two_list");
  expect([one.calls.length, two.calls]).toEqual([0, [{ tool: "list", input: {} }]]);
});

it("names are changed if they clash with the agent's own tools or with each other", async () => {
  const { url } = await start(["act", "a.b", "a/b", "get-it"].map((name) => offering(name)));
  const { tools } = await open(new McpDirectory(), [{ name: "one", url }], {
    taken: ["act", "one_act", "get-it"],
  });
  expect(Object.keys(tools)).toEqual(["one_act_2", "a_b", "a_b_2", "one_get_it"]);
});

it("names stay the same while a server with the same names is down", async () => {
  let now = 0;
  const one = await start([offering("list")]);
  const two = await start([offering("list")]);
  const servers = [
    { name: "one", url: one.url },
    { name: "two", url: two.url },
  ];
  const directory = new McpDirectory({ now: () => now, warn: () => undefined });
  await open(directory, servers);
  await two.down();
  now += 300_000;
  expect(Object.keys((await open(directory, servers)).tools)).toEqual(["one_list"]);
  await two.up();
});

describe("a result's value", () => {
  const image = { type: "image" as const, data: "AAEC/w==", mimeType: "image/png" };
  const link = { type: "resource_link" as const, uri: "file:///a", name: "a" };
  const text = (text: string) => ({ type: "text" as const, text });

  it.each<readonly [string, Result, unknown]>([
    ["structuredContent", structured({ a: [1] }), { a: [1] }],
    ["a single text's JSON", textResult(' {"a": [1, "x"]} '), { a: [1, "x"] }],
    ["a number as JSON", textResult("14.0"), 14],
    ["null as JSON", textResult("null"), null],
    ["the text, if only part of it is JSON", textResult('Got: {"a": 1}'), 'Got: {"a": 1}'],
    ["an empty text", textResult(""), ""],
    ["null for no content", { content: [] }, null],
    ["the list of several contents", { content: [text("1"), text("2")] }, [text("1"), text("2")]],
    ["a link, as it is", { content: [link] }, [link]],
    ["a link beside a text", { content: [text("see"), link] }, [text("see"), link]],
    [
      "structuredContent, with what is beside it that is no text",
      { ...structured({ a: [1] }), content: [text('{"a":[1]}'), image, link] },
      { a: [1], _content: [image, link] },
    ],
    ["the contents beside an empty one", { ...structured({}), content: [text("see")] }, "see"],
    ["an image beside a text", { content: [text("see"), image] }, [text("see"), image]],
  ])("is %s", async (_what, result, value) => {
    const given = await valueOf(result);
    expect(given instanceof Content ? given.value : given).toEqual(value);
  });

  it("keeps the text of JSON, and is a text if it is too deep for JSON", async () => {
    const json = ' {"id": 1234567890123456789, "n": 1.0}\n';
    expect(await valueOf(textResult(json))).toMatchObject({ body: json });
    const deep = "[".repeat(limits.maxDepth + 1) + "]".repeat(limits.maxDepth + 1);
    expect(await valueOf(textResult(deep))).toBe(deep);
  });

  it.each<readonly [string, Result, string]>([
    ["image", { content: [image] }, "image/png"],
    ["sound", { content: [{ ...image, type: "audio", mimeType: "audio/wav" }] }, "audio/wav"],
    [
      "binary resource",
      { content: [{ type: "resource", resource: { uri: "x:/", blob: "AAEC/w==" } }] },
      "application/octet-stream",
    ],
  ])("is the bytes of a single %s", async (_what, result, mediaType) => {
    expect(await valueOf(result)).toEqual({ bytes: new Uint8Array([0, 1, 2, 255]), mediaType });
  });
});

it("a result is untrusted, with the server as source, unless configured", async () => {
  const names = ["get_order", "get_mail", "send_mail", "other"];
  const { url } = await start(names.map((name) => offering(name)));
  const { policies } = await open(new McpDirectory(), [
    {
      name: "shop",
      url,
      tools: {
        "get_*": { trusted: true },
        "*mail": { sealed: true, trusted: false },
        "s*_*l": { approval: true },
        nothing: { approval: true },
      },
    },
  ]);
  const source = "mcp:shop";
  const aliasesOf = (name: string) => [name, `shop/${name}`];
  expect(policies).toEqual({
    get_order: { source, numbers: "raw", aliases: aliasesOf("get_order"), trusted: true },
    get_mail: {
      source,
      numbers: "raw",
      aliases: aliasesOf("get_mail"),
      trusted: false,
      sealed: true,
    },
    send_mail: {
      source,
      numbers: "raw",
      aliases: aliasesOf("send_mail"),
      trusted: false,
      sealed: true,
      approval: true,
    },
    other: { source, numbers: "raw", aliases: aliasesOf("other"), trusted: false },
  });
});

describe("the list of tools", () => {
  const lists = (server: RunningMcpServer) =>
    server.requests.filter(({ rpc }) => rpc === "tools/list").length;

  it("is requested again after five minutes", async () => {
    let now = 0;
    const server = await start([offering("old")]);
    const servers = [{ name: "one", url: server.url }];
    const directory = new McpDirectory({ now: () => now });
    await open(directory, servers);
    server.offer([offering("new")]);
    now += 299_999;
    expect(Object.keys((await open(directory, servers)).tools)).toEqual(["old"]);
    expect(lists(server)).toBe(1);
    now += 1;
    expect(Object.keys((await open(directory, servers)).tools)).toEqual(["new"]);
  });

  it("is requested again after the server did not know a tool", async () => {
    const server = await start([offering("old")]);
    const servers = [{ name: "one", url: server.url }];
    const directory = new McpDirectory();
    const tools = await open(directory, servers);
    server.offer([offering("new")]);
    await expect(run(tools, "old")).rejects.toThrow("not found");
    expect(Object.keys((await open(directory, servers)).tools)).toEqual(["new"]);
  });

  it("is cached per address and headers", async () => {
    const server = await start([offering("act")]);
    const directory = new McpDirectory();
    for (const key of ["key-one", "key-two", "key-one"]) {
      await open(directory, [{ name: "one", url: server.url, headers: { key } }]);
    }
    expect(lists(server)).toBe(2);
  });
});

const DIGITS = "1234567890123456789";

/** Each schema of a parameter, what is given, and what the server gets: JSON texts. */
const CASES: readonly (readonly [schema: object, given: string, got: string])[] = [
  [{ type: "string" }, "42", '"42"'],
  [{ type: "string" }, "1.5", '"1.5"'],
  [{ type: "string" }, DIGITS, `"${DIGITS}"`],
  [{ type: "string" }, "true", '"true"'],
  [{ type: "string" }, "null", "null"],
  [{ type: "string" }, "[1]", "[1]"],
  [{ type: ["string", "null"] }, "42", '"42"'],
  [{ type: ["string", "integer"] }, "42", "42"],
  [{ type: "integer" }, '"42"', "42"],
  [{ type: "integer" }, `"${DIGITS}"`, DIGITS],
  [{ type: "integer" }, '"-0"', '"-0"'],
  [{ type: "integer" }, '"007"', '"007"'],
  [{ type: "integer" }, '"1.0"', '"1.0"'],
  [{ type: "integer" }, '" 42"', '" 42"'],
  [{ type: "integer" }, '"٤٢"', '"٤٢"'],
  [{ type: "number" }, '"1.5"', "1.5"],
  [{ type: "number" }, '"1.50"', '"1.50"'],
  [{ type: "number" }, '"1e3"', '"1e3"'],
  [{ type: "number" }, '"Infinity"', '"Infinity"'],
  [{ type: "number" }, '""', '""'],
  [{ type: "number" }, "true", "true"],
  [{ type: "boolean" }, '"true"', "true"],
  [{ type: "boolean" }, '"false"', "false"],
  [{ type: "boolean" }, '"yes"', '"yes"'],
  [{ type: "boolean" }, "1", "1"],
  [{ anyOf: [{ type: "integer" }, { type: "null" }] }, '"42"', "42"],
  [{ anyOf: [{ type: "integer" }, { type: "boolean" }] }, '"42"', '"42"'],
  [{ allOf: [{ type: "string" }, { maxLength: 5 }] }, "42", '"42"'],
  [{ $ref: "#/$defs/id" }, "42", '"42"'],
  [{ enum: ["1", "2"] }, "1", '"1"'],
  [{ const: 2 }, '"2"', "2"],
  [{}, '"42"', '"42"'],
  [{ type: "array", items: { type: "string" } }, '[1,"2",null]', '["1","2",null]'],
  [
    { type: "array", prefixItems: [{ type: "string" }], items: { type: "integer" } },
    '[1,"2"]',
    '["1",2]',
  ],
  [
    {
      type: "object",
      properties: { a: { type: "integer" } },
      additionalProperties: { type: "string" },
    },
    '{"a":"1","b":2,"__proto__":3}',
    '{"a":1,"b":"2","__proto__":"3"}',
  ],
];

it.each(CASES)("an MCP tool's parameter %j takes %s as %s", (schema, given, got) => {
  const root = { type: "object", properties: { p: schema }, $defs: { id: { type: "string" } } };
  const input = parseExactly(`{"p":${given}}`);
  const fitted = fitScalars(input, root as Parameters<typeof fitScalars>[1]);
  expect(JSON.stringify(fitted)).toBe(`{"p":${got}}`);
  if (given === got) expect(fitted).toBe(input);
});

it("the schema of an MCP tool's list is looked up once for all elements", () => {
  let lookups = 0;
  const row = new Proxy<Record<string, unknown>>(
    { type: "object", properties: { id: { type: "string" } } },
    {
      get: (target, key) => {
        lookups++;
        return Reflect.get(target, key) as unknown;
      },
    },
  );
  const schema = { type: "object", properties: { rows: { type: "array", items: row } } } as never;
  const rows = Array.from({ length: 1_000 }, (_, id) => ({ id }));
  const fitted = fitScalars({ rows }, schema) as { rows: { id: unknown }[] };
  expect(fitted.rows.at(-1)).toEqual({ id: "999" });
  const before = lookups;
  fitScalars({ rows: [...rows, ...rows] }, schema);
  expect(lookups - before).toBeLessThan(before + 100);
});
