import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { CallResults, clientResult } from "../src/call-result.ts";
import { type ToolOutput, toolOutput } from "../../../src/tool/tool-output.ts";
import type { VariableInfo } from "../../../src/store/variable.ts";
import { storeWith } from "../../../test/support/wrapped.ts";
import type { OfferedTool } from "../src/offered-items.ts";
import { NodeSql } from "../../../test/support/node-sql.ts";
import { GatewayState } from "../src/gateway-state.ts";
import type { Ready, Saved } from "../../../src/tool/wrapped-tool.ts";
import type { Json } from "../../../src/value/json.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { toolServer } from "../../../test/support/raw-server.ts";

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
      _meta: { card: "4111" },
    };
    const output = toolOutput(info, "4111");
    const { content, _meta } = clientResult({ received, output, info, inlineChars: 1_000 });
    expect(_meta).toEqual(META);
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
  const state = new GatewayState(new NodeSql());
  const offered = { definition: { name: "take" } } as OfferedTool;
  const saved = { output: {}, info: undefined } as unknown as Saved;
  const ready = {
    references: { authoredChars: 7, resolvedChars: 100, values },
  } as unknown as Ready;
  new CallResults(state).saved(offered, { saved, ready, received: { content: [] } });
  expect(state.read()).toMatchObject({ referenceCharacters: 7, bytesByReference: 100 + more });
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
    const { call, store, state } = await failing(failure);
    const result = await call("fail");
    expect(result).toMatchObject({
      isError: true,
      content: [
        { type: "text", text: expect.stringContaining("Kept as $fail_1") },
        { type: "resource_link", uri: "byref://variables/fail_1" },
      ],
    });
    expect(await store.read("fail_1")).toEqual(value);
    expect(state.read()).toMatchObject({ calls: 1, kept: 1, recovered: 0 });
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
    expect(gateway.state.taint.isTainted).toBe(true);
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
