import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { CallResults, clientResult } from "../src/call-result.ts";
import { type ToolOutput, toolOutput } from "../../../src/tool/tool-output.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { storeWith } from "../../../test/support/wrapped.ts";
import type { OfferedTool } from "../src/offered-items.ts";
import { MemoryStatistics } from "../src/gateway-state.ts";
import type { Ready, Saved } from "../../../src/tool/wrapped-tool.ts";
import { type Json, parsedJson } from "../../../src/value/json.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { toolServer } from "../../../test/support/raw-server.ts";
import { savedValue, textOf } from "../src/json-text.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { type Sending, startWireServer } from "../../../test/support/wire-server.ts";

const block = (text: string) => ({ type: "text" as const, text });
const META = { "byref/variable": { name: "a", version: 1 } };

async function infoOf(value: string | readonly number[]): Promise<VariableInfo> {
  const [info] = (await storeWith({ a: value })).list();
  if (info === undefined) throw new Error("Nothing was saved.");
  return info;
}

describe("the result of a call for a client", () => {
  it("has no size, shape or media type of a guarded value, and none of its images", async () => {
    const guarded = { visibility: "sealed", mediaType: "x/4111" } as const;
    const info: VariableInfo = { ...(await infoOf("4111")), ...guarded };
    const received: CallToolResult = {
      content: [block("4111"), { type: "image", data: "AAAA", mimeType: "image/png" }],
    };
    const output = toolOutput(info, "4111");
    const { content } = clientResult({ received, output, info, inlineChars: 1_000 });
    const [handle, link, ...others] = content;
    expect(handle).toMatchObject({ text: expect.stringContaining('"visibility":"sealed"') });
    expect(link).toEqual({ type: "resource_link", uri: "byref://variables/a", name: "a" });
    expect(others).toEqual([]);
  });

  it.each([
    [1_000, false],
    [1_001, true],
  ])("counts structured content of %i characters: a handle is %s", async (chars, isHandle) => {
    const info = await infoOf([1]);
    const structuredContent = { a: "x".repeat(chars - '{"a":""}'.length) };
    const received = { content: [block("short")], structuredContent };
    const output = toolOutput(info, [1]);
    const result = clientResult({ received, output, info, inlineChars: 1_000 });
    expect(result.structuredContent === undefined).toBe(isHandle);
  });
});

const notes = async (unresolved: readonly { reference: string; near?: readonly string[] }[]) => {
  const info = await infoOf("short");
  const output = { $var: "a", value: "short", unresolved } as ToolOutput;
  const received = { content: [block("short")], _meta: { own: 1 } };
  return clientResult({ received, output, info, inlineChars: 5 });
};

it("a short result names the variables that an unknown one resembles, each of them", async () => {
  const near = ["order", "orders"];
  expect(await notes([{ reference: "$ordr", near }])).toEqual({
    content: [
      block("short"),
      block("$ordr is not a variable and was passed as it is. There is $order, $orders."),
    ],
    _meta: { own: 1, ...META },
  });
});

it.each<[string, readonly (Json | Uint8Array)[], number]>([
  ["a text with two umlauts", ["üaü"], 2],
  ["texts in a list in a list", [["ü", ["€"]]], 3],
])("a call counts the bytes that were passed by reference: %s", (_what, values, more) => {
  const statistics = new MemoryStatistics();
  const offered = { definition: { name: "take" } } as OfferedTool;
  const saved = { output: {}, info: undefined } as unknown as Saved;
  const ready = {
    references: { authoredChars: 7, resolvedChars: 100, values },
  } as unknown as Ready;
  new CallResults(statistics).saved(offered, { saved, ready, received: { content: [] } });
  expect(statistics.read()).toMatchObject({ referenceCharacters: 7, bytesByReference: 100 + more });
});

const picture = (bytes: number) => ({
  type: "image" as const,
  data: Buffer.alloc(bytes, 1).toString("base64"),
  mimeType: "image/png",
});
const LONG_ERROR = `Error: ${"why ".repeat(800)}end`;

/** Starts a gateway in front of a server whose tool fails like this. */
async function failing(failure: Partial<CallToolResult>, rules: object = {}) {
  const make = () => toolServer(["fail"], () => ({ ...failure, isError: true }));
  return startGateway([{ name: "shop", make, rules }]);
}

describe("a failure of a server", () => {
  const structuredContent = { code: 7 };
  it.each<[string, Partial<CallToolResult>]>([
    ["structured content", { content: [block("no")], structuredContent }],
    ["a picture beside a text", { content: [block("no"), picture(9_000)] }],
    ["nothing", { content: [] }],
  ])("is passed on unchanged and not kept: %s", async (_what, failure) => {
    const { call, store } = await failing(failure);
    expect(await call("fail")).toEqual({ ...failure, isError: true });
    expect(store.list()).toEqual([]);
  });

  it.each<[string, Partial<CallToolResult>, unknown]>([
    ["a text", { content: [block(LONG_ERROR)] }, LONG_ERROR],
    [
      "structured content beside other texts",
      { content: [block(LONG_ERROR)], structuredContent },
      { content: [block(LONG_ERROR)], structuredContent },
    ],
  ])("is kept whole if it is long, and comes as a handle: %s", async (_what, failure, value) => {
    const { call, store, statistics } = await failing(failure);
    const result = await call("fail");
    expect(result).toMatchObject({
      isError: true,
      content: [
        { type: "text", text: expect.stringContaining("Kept as $fail_1") },
        { type: "resource_link", uri: "byref://variables/fail_1" },
      ],
    });
    expect(await store.read("fail_1")).toEqual(value);
    expect(statistics.read()).toMatchObject({ calls: 1, kept: 1, recovered: 0 });
  });

  it.each([["no"], [LONG_ERROR]])("of a guarded call is withheld: %s", async (text) => {
    const rules = { tools: { fail: { sealed: true } } };
    const { call, store } = await failing({ content: [block(text), picture(9)] }, rules);
    expect(await call("fail")).toEqual({
      isError: true,
      content: [
        block("tool_failed: fail failed; details are withheld, because its result is sealed."),
      ],
    });
    expect(store.list()).toEqual([]);
  });

  it.each([["no"], [LONG_ERROR]])("is untrusted like its results: %s", async (text) => {
    const { call, gateway } = await failing({ content: [block(text)] });
    await call("fail");
    expect(gateway.taint.isTainted).toBe(true);
  });
});

const base64 = (bytes: number) => Buffer.alloc(bytes, 1).toString("base64");
const file = (bytes: number) => ({
  type: "resource" as const,
  resource: { uri: "file:///a", blob: base64(bytes), mimeType: "application/pdf" },
});
const SMALL = picture(102_400);
const LARGE = picture(102_401);
/** Starts a gateway in front of a server with a tool that returns this, and one that records its input. */
async function returning(result: Partial<CallToolResult>) {
  const received: unknown[] = [];
  const make = () =>
    toolServer(["shot", "take"], ({ name, arguments: input }) => {
      if (name === "shot") return result;
      received.push(input);
      return { content: [] };
    });
  return { received, ...(await startGateway([{ name: "browser", make }])) };
}

/** What comes after the handle and the link to the variable. */
const beside = ({ content }: { readonly content: readonly ContentBlock[] }) => content.slice(2);

describe("contents of a long result with pictures, sounds and files", () => {
  const structuredContent = { page: "LONG ".repeat(300) };
  it.each<[string, Partial<CallToolResult>, readonly ContentBlock[]]>([
    ["a large picture, which the handle describes", { content: [LARGE] }, []],
    [
      "a short text beside pictures",
      { content: [block("Done."), SMALL, picture(3)] },
      [block("Done."), SMALL, picture(3)],
    ],
    [
      "a short text beside a large picture",
      { content: [block("Done."), LARGE] },
      [
        block(
          "1 content is not shown but kept, as base64: $shot_1[1].data: image/png of 102401 bytes.",
        ),
        block("Done."),
      ],
    ],
    [
      "a file and a large picture",
      { content: [SMALL, file(5), LARGE] },
      [
        block(
          "2 contents are not shown but kept, as base64: $shot_1[1].resource.blob: application/pdf of 5 bytes, $shot_1[2].data: image/png of 102401 bytes.",
        ),
        SMALL,
      ],
    ],
    [
      "a large picture and a sound beside structured content, which the variable does not have",
      { content: [LARGE, { ...LARGE, type: "audio" }], structuredContent },
      [LARGE, { ...LARGE, type: "audio" }],
    ],
    [
      "a large picture in a failure",
      { content: [block("No."), LARGE], structuredContent, isError: true },
      [
        block(
          "1 content is not shown but kept, as base64: $shot_1.content[1].data: image/png of 102401 bytes.",
        ),
        block("No."),
      ],
    ],
  ])("%s", async (_what, result, expected) => {
    const { call } = await returning(result);
    expect(beside(await call("shot"))).toEqual(expected);
  });
});

it("the text of a server's JSON is kept beside structured content that has all digits", async () => {
  const store = new MemoryStore();
  const text = '{ "id": 1234567890123456789 }';
  const structuredContent = parsedJson(text) as Record<string, unknown>;
  const value = savedValue({ content: [block(text)], structuredContent });
  await store.save({ name: "a", value: value as Json });
  expect(await textOf("a", (await store.read("a")) ?? null, store)).toBe(text);
});

it("inlineChars applies to a server, can be overridden for its tools, and is exact to the character", async () => {
  const texts = { a: "x".repeat(20), b: "x".repeat(21), short_a: "x", long_a: "x".repeat(1_000) };
  const raw = toolServer(Object.keys(texts), ({ name }) => ({
    content: [block(texts[name as keyof typeof texts])],
  }));
  const plain = toolServer(["other"], () => ({ content: [block("x".repeat(21))] }));
  const tools = { "short_*": { inlineChars: 0 }, "long_*": { inlineChars: 1_000 } };
  const { call } = await startGateway([
    { name: "raw", make: () => raw, rules: { inlineChars: 20, tools } },
    { name: "plain", make: () => plain },
  ]);
  const isHandle = async (name: string) =>
    JSON.stringify((await call(name)).content).includes("Kept as $");
  const names = ["a", "b", "short_a", "long_a", "other"];
  const handles = await Promise.all(names.map(async (name) => [name, await isHandle(name)]));
  expect(Object.fromEntries(handles)).toEqual({
    a: false,
    b: true,
    short_a: true,
    long_a: false,
    other: false,
  });
});

it("keeps digits of structured content without a text, and of arguments, to the server and to the client", async () => {
  const inputs: string[] = [];
  const ids = Array.from({ length: 100 }, (_, index) => `{"id":1234567890123456${100 + index}}`);
  const structuredContent = parsedJson(`{"rows":[${ids.join()}],"first":1234567890123456789}`);
  const raw = toolServer(["act"], ({ arguments: input }) => {
    inputs.push(JSON.stringify(input));
    return { content: [], structuredContent };
  });
  const { call, sent } = await startGateway([
    { name: "raw", make: () => raw, rules: { inlineChars: 10_000 } },
  ]);
  await call("act", { a: parsedJson("1234567890123456789") });
  expect(JSON.stringify(sent.at(-1))).toContain(JSON.stringify(structuredContent));
  await call("act", { a: "$act_1.first", b: "$act_1.rows[99]" });
  expect(inputs).toEqual([
    '{"a":1234567890123456789}',
    '{"a":1234567890123456789,"b":{"id":1234567890123456199}}',
  ]);
  const groups = await call("query_variables", {
    sql: "SELECT count(DISTINCT r.value->>'id') AS ids FROM act_1 a, json_each(a.value) r WHERE a.key = 'rows'",
  });
  expect(JSON.stringify(groups)).toContain('[{\\"ids\\":100}]');
});

it.each<Sending>(["JSON", "a stream", "a stream with ids", "SSE"])(
  "keeps digits of structured content that a server behind a URL sends as %s",
  async (sending) => {
    // Longer than what a connection passes on at once.
    const value = `{"id":1234567890123456789,"far":1e400,"text":"${"x".repeat(400_000)}"}`;
    const structuredContent = parsedJson(value);
    const result = { content: [], structuredContent, _meta: { by: "shop" } };
    const server = await startWireServer(sending, () => ({ result }));
    const rules = { inlineChars: 1_000_000 };
    const { call, sent, gateway } = await startGateway([{ ...server.behind, rules }]);
    try {
      await call("act");
      expect(JSON.stringify(sent.at(-1))).toContain(`"structuredContent":${value}`);
      expect(JSON.stringify(sent.at(-1))).not.toContain("byref/digits");
      await call("look", { id: "$act_1.id" });
      expect(server.texts.at(-1)).toContain('"arguments":{"id":1234567890123456789}');
    } finally {
      await gateway.close();
      await server.down();
    }
  },
);
