import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as limits from "../../../../src/limits.ts";
import { McpDirectory } from "../../src/agents/mcp-servers.ts";
import { startLoopback, textOf } from "../../../../test/support/loopback.ts";
import { failure, type OfferedTool, textResult } from "../../../../test/support/mcp-server.ts";
import {
  endServersAfterEach,
  offering,
  open,
  run,
  start,
} from "../../../../test/support/mcp-tools.ts";

endServersAfterEach();

const quiet = { warn: () => undefined };
const never = () => new Promise<never>(() => undefined);

it("a server's tools that are left out are logged once, and the others are used", async () => {
  let now = 0;
  const warn = vi.fn<(message: string) => void>();
  const many = Array.from({ length: limits.maxMcpTools + 1 }, (_, at) => offering(`look_${at}`));
  const deep = JSON.parse(`${'{"not":'.repeat(200)}{}${"}".repeat(200)}`) as object;
  const inputSchema = { type: "object" as const, properties: { a: deep } };
  const server = await start([{ ...offering("odd"), inputSchema }, ...many], { pageSize: 500 });
  const directory = new McpDirectory({ now: () => now, warn });
  for (let minute = 0; minute < 3; minute++) {
    const { tools } = await open(directory, [{ name: "one", url: server.url }]);
    expect(Object.keys(tools)).toHaveLength(limits.maxMcpTools);
    now += limits.mcpFreshMs;
  }
  expect(warn.mock.calls).toEqual([
    ["MCP server one is used without: odd, all after the first 2000"],
  ]);
});

const schema = { type: "object" };

const LISTS: readonly (readonly [tool: unknown, isOffered: boolean, list?: object])[] = [
  // mastra-ai/mastra#21859
  [{ name: "odd" }, false],
  [{ name: "odd", inputSchema: null }, false],
  [{ name: "odd", inputSchema: "object" }, false],
  [{ name: "odd", inputSchema: { type: "object", properties: [] } }, true],
  [{ name: "odd", inputSchema: { type: "object", properties: null } }, true],
  [{ inputSchema: schema }, false],
  [{ name: 7, inputSchema: schema }, false],
  // cognizant-ai-lab/neuro-san#1341
  [null, false],
  ["odd", false],
  // zereight/gitlab-mcp#286, modelcontextprotocol/servers#3051
  [{ name: "odd", inputSchema: {} }, true],
  // anthropics/claude-code#88049
  [{ name: "odd", inputSchema: { anyOf: [schema] } }, true],
  // okf-memory/okf-agent-memory#30
  [{ name: "odd", inputSchema: schema, outputSchema: { type: "array", items: {} } }, true],
  // anomalyco/opencode#26529
  [{ name: "odd", inputSchema: schema, outputSchema: { $ref: "#/$defs/None" } }, true],
  // Azure/Azure-Resource-Manager-MCP#21
  [{ name: "odd", inputSchema: schema, outputSchema: { properties: { a: true } } }, true],
  [{ name: "odd", title: null, description: null, inputSchema: schema }, true],
  [{ name: "odd", description: ["Looks."], inputSchema: schema }, true],
  [{ name: "odd", inputSchema: schema, outputSchema: null, annotations: null, _meta: null }, true],
  [{ name: "odd", inputSchema: schema, annotations: { title: null, readOnlyHint: "yes" } }, true],
  [JSON.parse('{"name":"odd","inputSchema":{"type":"object"},"__proto__":{"a":1}}'), true],
  [{ name: "odd", inputSchema: schema }, true, { nextCursor: null }],
  [{ name: "odd", inputSchema: schema }, true, { nextCursor: "" }],
  [{ name: "odd", inputSchema: schema }, true, { nextCursor: "8" }],
];

/** Opens the tools of a server that answers as no library would. */
async function openOdd(list: object, result: unknown = textResult("fine")) {
  const answers: Readonly<Record<string, unknown>> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "odd", version: "1" },
    },
    "tools/list": list,
    "tools/call": result,
  };
  const server = await startLoopback(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method } = JSON.parse(await textOf(request)) as { id?: number; method: string };
    if (id === undefined) return response.writeHead(202).end();
    const result = answers[method];
    const error = { code: -32_601, message: "Method not found" };
    response.writeHead(200, { "content-type": "application/json" });
    const answer = result === undefined ? { error } : { result };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  });
  onTestFinished(() => server.down());
  // A list that is read again and again would be cut.
  const warn = (line: string) => expect(line).not.toContain("all after");
  return open(new McpDirectory({ warn }), [{ name: "one", url: server.url }]);
}

const good = { name: "good", inputSchema: schema };

it.each(LISTS)("a list with %j leaves other tools usable", async (tool, isOffered, list = {}) => {
  const opened = await openOdd({ tools: [tool, good], ...(list as object) });
  expect(Object.keys(opened.tools).toSorted()).toEqual(isOffered ? ["good", "odd"] : ["good"]);
  expect(await run(opened, "good")).toBe("fine");
});

const link = { type: "resource_link", uri: "file:///a" };
const image = { type: "image", mimeType: "image/png" };
const png = { bytes: new Uint8Array([0, 1, 2, 255]), mediaType: "image/png" };

it.each<readonly [result: object, value: unknown]>([
  [{ ...textResult("fine"), structuredContent: null, isError: null, _meta: null }, "fine"],
  // mcp-server-cloudflare#12
  [{}, null],
  [{ content: null }, null],
  [{ content: null, structuredContent: { a: 1 } }, { a: 1 }],
  [{ content: "fine" }, "fine"],
  [{ content: ["fine"] }, "fine"],
  [{ content: { type: "text", text: "fine" } }, "fine"],
  [{ content: [{ type: "text" }] }, ""],
  [
    { content: [{ type: "text", text: "see" }, { note: "a" }] },
    [
      { type: "text", text: "see" },
      { type: "text", text: '{"note":"a"}' },
    ],
  ],
  [{ content: [link] }, [{ ...link, name: link.uri }]],
  [{ content: [{ ...image, data: "AAEC\n/w==\n" }] }, png],
  [{ content: [{ ...image, data: "data:image/png;base64,AAEC/w==" }] }, png],
  [{ toolResult: { a: 1 } }, { a: 1 }],
])("a result %j is read", async (result, value) => {
  expect(await run(await openOdd({ tools: [good] }, result), "good")).toEqual(value);
});

describe("a server that is down", () => {
  it("makes only its own tools unavailable, and is logged once, without its address and headers", async () => {
    let now = 0;
    const warn = vi.fn<(message: string) => void>();
    const up = await start([offering("here")]);
    const down = await start([offering("gone")]);
    const servers = [
      { name: "up", url: up.url },
      { name: "broken", url: `${down.url}?key=0123456789`, headers: { "x-key": "abcdefghij" } },
    ];
    await down.down();
    const directory = new McpDirectory({ now: () => now, warn });
    for (let minute = 0; minute < 3; minute++) {
      expect(Object.keys((await open(directory, servers)).tools)).toEqual(["here"]);
      now += 60_000;
    }
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls[0]?.[0]).toMatch(/^MCP server broken cannot be asked for its tools: /);
    expect(warn.mock.calls[0]?.[0]).not.toMatch(/0123456789|abcdefghij|127\.0\.0\.1/);
    await down.up();
    expect(Object.keys((await open(directory, servers)).tools)).toEqual(["here", "gone"]);
  });

  it("is not asked again for 30 seconds", async () => {
    let now = 0;
    const server = await start([]);
    let asked = 0;
    server.intercept((_request, response) => {
      asked++;
      response.writeHead(503).end();
      return true;
    });
    const directory = new McpDirectory({ ...quiet, now: () => now });
    const servers = [{ name: "one", url: server.url }];
    await open(directory, servers);
    const before = asked;
    now += 29_999;
    await open(directory, servers);
    expect(asked).toBe(before);
    now += 1;
    await open(directory, servers);
    expect(asked).toBeGreaterThan(before);
  });

  it("is waited for three seconds, together with all others", async () => {
    const servers = await Promise.all([start([]), start([])]);
    const asked = servers.map(
      (server) => new Promise((done) => server.intercept(() => (done(true), true))),
    );
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const ended = vi.fn<() => void>();
    const opening = open(
      new McpDirectory(quiet),
      servers.map(({ url }, index) => ({ name: `silent_${index}`, url })),
    );
    void opening.then(ended);
    await Promise.all(asked);
    await vi.advanceTimersByTimeAsync(limits.replyMs - 1);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    // The servers that are stopped after the test need the real ones.
    vi.useRealTimers();
    expect((await opening).tools).toEqual({});
  });

  it("is not considered down because the turn was stopped", async () => {
    const server = await start([offering("act")]);
    const directory = new McpDirectory();
    const servers = [{ name: "one", url: server.url }];
    const stopped = await open(directory, servers, { signal: AbortSignal.abort() });
    expect(stopped.tools).toEqual({});
    expect(Object.keys((await open(directory, servers)).tools)).toEqual(["act"]);
  });
});

describe("a call that fails", () => {
  it("reports structured content without the headers that it was sent", async () => {
    const key = 'key-"12\\34';
    const failed = { ...failure("No."), structuredContent: { sent: key } };
    const { url } = await start([offering("act", failed)]);
    const servers = [{ name: "one", url, headers: { "x-api-key": key } }];
    const tools = await open(new McpDirectory(), servers);
    await expect(run(tools, "act")).rejects.toThrow('No.\n{"sent":"[secret]"}');
  });

  // Of NousResearch/hermes-agent#101330 the text alone says that all else is in the structured content.
  it.each([
    ["without a text", [], { code: 7 }, '{"code":7}'],
    ["beside a text", ["No."], { line: 7 }, 'No.\n{"line":7}'],
    ["that its text repeats", ['{ "line": 7 }'], { line: 7 }, '{ "line": 7 }'],
    ["that repeats its text", ["No."], { result: "No." }, "No."],
  ])("reports structured content %s", async (_what, texts, structuredContent, said) => {
    const content = texts.map((text) => ({ type: "text" as const, text }));
    const { url } = await start([offering("act", { ...failure(""), content, structuredContent })]);
    const tools = await open(new McpDirectory(), [{ name: "one", url }]);
    expect(await run(tools, "act").catch((error: Error) => error.message)).toBe(said);
  });

  it("reports both ends of a long message", async () => {
    const long = failure(`It failed: ${"because ".repeat(500)}try again`);
    const { url } = await start([offering("long", long)]);
    const tools = await open(new McpDirectory(), [{ name: "one", url }]);
    await expect(run(tools, "long")).rejects.toThrow(/^It failed: .* more\) .*try again$/u);
  });

  it("gets the answer of a stream that was cut and can be resumed", async () => {
    const server = await start([offering("act")]);
    const tools = await open(new McpDirectory(), [{ name: "one", url: server.url }]);
    const answer = { jsonrpc: "2.0", id: 0, result: textResult("resumed") };
    server.intercept((request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (request.method === "GET") response.end(`id: 2\ndata: ${JSON.stringify(answer)}\n\n`);
      else
        void textOf(request).then((text) => {
          answer.id = JSON.parse(text).id;
          response.end("id: 1\nretry: 1\ndata:\n\n");
        });
      return true;
    });
    expect(await run(tools, "act")).toBe("resumed");
  });

  it("closes the request when the turn is stopped", async () => {
    const slow: OfferedTool = { name: "slow", answer: () => never() };
    const server = await start([slow]);
    const tools = await open(new McpDirectory(), [{ name: "one", url: server.url }]);
    const closed = Promise.withResolvers<void>();
    server.intercept((_request, response) => {
      response.once("close", () => closed.resolve());
      return false;
    });
    const stop = new AbortController();
    const call = run(tools, "slow", { signal: stop.signal });
    await vi.waitFor(() => expect(server.calls).toHaveLength(1));
    stop.abort();
    await expect(call).rejects.toThrow("aborted");
    await closed.promise;
  });

  it("cannot be made when the turn is over", async () => {
    const { url } = await start([offering("act")]);
    const tools = await open(new McpDirectory(), [{ name: "one", url }]);
    await tools.close();
    await expect(run(tools, "act")).rejects.toThrow("over");
  });
});

it("a session belongs to one turn: opened by its first call, shared by the others, closed with it", async () => {
  const server = await start([offering("act")], { sessions: true });
  const directory = new McpDirectory();
  const servers = [{ name: "one", url: server.url }];
  await (await directory.open(servers, { taken: [], signal: AbortSignal.any([]) })).close();
  await vi.waitFor(() => expect(server.sessions.size).toBe(0));
  const [one, two] = [await open(directory, servers), await open(directory, servers)];
  expect(server.sessions.size).toBe(0);
  await Promise.all([run(one, "act"), run(one, "act"), run(two, "act")]);
  await run(one, "act");
  expect(server.sessions.size).toBe(2);
  await one.close();
  await two.close();
  await vi.waitFor(() => expect(server.sessions.size).toBe(0));
});

it.each([
  [{}, ["tools/call"]],
  [{ sessions: true }, ["initialize", "notifications/initialized", "tools/call"]],
])("a later turn sends a server with %j the requests that it needs", async (options, sent) => {
  const server = await start([offering("act")], options);
  const [directory, servers] = [new McpDirectory(), [{ name: "one", url: server.url }]];
  await run(await open(directory, servers), "act");
  server.requests.splice(0);
  await run(await open(directory, servers), "act");
  expect(server.requests.map(({ rpc }) => rpc)).toEqual(sent);
});

it("a session is renewed when the server has forgotten it, and the call is made once", async () => {
  const server = await start([offering("act")], { sessions: true });
  const tools = await open(new McpDirectory(), [{ name: "one", url: server.url }]);
  await run(tools, "act");
  server.forget();
  await Promise.all([run(tools, "act"), run(tools, "act")]);
  expect(server.calls).toHaveLength(3);
});

const nested = (depth: number): Record<string, unknown> =>
  depth === 0 ? {} : { type: "object", properties: { a: nested(depth - 1) } };

it.each<readonly [string, Record<string, unknown>]>([
  ["whose schema is deeper than 100", { a: nested(100) }],
  ["whose schema is longer than 65,536", { a: { description: "x".repeat(65_536) } }],
])("an invalid tool %s is left out", async (_what, properties) => {
  const inputSchema = {
    type: "object" as const,
    properties: properties as Record<string, object>,
  };
  const { url } = await start([{ ...offering("bad"), inputSchema }, offering("good")]);
  const { tools } = await open(new McpDirectory(), [{ name: "one", url }]);
  expect(Object.keys(tools)).toEqual(["good"]);
});
