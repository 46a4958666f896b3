import type { CallToolResult } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { CallResults } from "../src/call-results.ts";
import type { OfferedTool } from "../src/offered-tools.ts";
import { MemoryStatistics } from "../src/statistics.ts";
import { toolOutput } from "../../../src/tool/tool-output.ts";
import type { Ready, Saved } from "../../../src/tool/wrapped-tool.ts";
import type { Json } from "../../../src/value/json.ts";
import { storeWith } from "../../../test/support/wrapped.ts";

const block = (text: string) => ({ type: "text" as const, text });
const NO_REFERENCES = { authoredChars: 0, resolvedChars: 0, values: [] };
const definition = { name: "take" };
const SERVERS = {
  definition,
  from: { upstream: { server: { name: "shop", rules: { inlineChars: 10 } } }, tool: { name: "a" } },
} as unknown as OfferedTool;
const LOCAL = { definition, isLocal: true } as OfferedTool;

interface Call {
  readonly offered?: OfferedTool;
  readonly value?: string;
  readonly received?: CallToolResult;
  readonly references?: object;
}

/** Returns the result of a call that saved this value, and the counts. */
async function finished({ offered = SERVERS, value = "short", received, references }: Call) {
  const statistics = new MemoryStatistics();
  const [info] = (await storeWith({ a: value })).list();
  if (info === undefined) throw new Error("Nothing was saved.");
  const inlineChars = offered === SERVERS ? 10 : 1_000;
  const saved = { output: toolOutput(info, value, { inlineChars }), info } as unknown as Saved;
  const ready = { references: references ?? NO_REFERENCES } as unknown as Ready;
  const result = new CallResults(statistics).saved(offered, { saved, received, ready });
  return { result, counts: statistics.read(), info };
}

const typesOf = ({ content }: CallToolResult) => content.map(({ type }) => type);

describe("a finished call", () => {
  it("of a server is its result as received, up to the server's own limit", async () => {
    const short = await finished({
      value: "x".repeat(10),
      received: { content: [block("x".repeat(10))] },
    });
    expect(short.result.content).toEqual([block("x".repeat(10))]);
    const long = await finished({
      value: "x".repeat(11),
      received: { content: [block("x".repeat(11))] },
    });
    expect(typesOf(long.result)).toEqual(["text", "resource_link"]);
  });

  it("of a tool in this process is its value as a text, and of a long value the handle", async () => {
    const short = await finished({ offered: LOCAL });
    expect(short.result.content).toEqual([block("short")]);
    const long = await finished({ offered: LOCAL, value: "x".repeat(1_001) });
    expect(typesOf(long.result)).toEqual(["text", "resource_link"]);
  });
});

describe("the counts of a call", () => {
  it("have the characters that were received and those that were sent", async () => {
    const value = "ü".repeat(2_000);
    const { result, counts } = await finished({ value, received: { content: [block(value)] } });
    expect(counts).toMatchObject({
      calls: 1,
      kept: 1,
      charactersReceived: 2_000,
      charactersSent: result.content.reduce(
        (sum, part) => sum + (part.type === "text" ? part.text : JSON.stringify(part)).length,
        0,
      ),
    });
  });

  it("have the size of the variable where nothing was received", async () => {
    const { counts, info } = await finished({ offered: LOCAL, value: "ü".repeat(20) });
    expect(info.bytes).toBe(40);
    expect(counts).toMatchObject({ kept: 1, charactersReceived: 40, charactersSent: 20 });
  });

  it.each<[string, readonly (Json | Uint8Array)[], number]>([
    ["a text in Latin letters", ["abc"], 0],
    ["a text with two umlauts", ["üaü"], 2],
    ["several texts", ["ü", "€"], 3],
    ["texts in a list in a list", [["ü", ["€"]]], 3],
    ["keys and texts of an object", [{ ü: { a: "€" } }], 3],
    ["numbers and null", [1, null, true], 0],
    ["bytes", [new Uint8Array([195, 188])], 0],
  ])("have the bytes of what was passed on by reference: %s", async (_what, values, more) => {
    const references = { authoredChars: 7, resolvedChars: 100, values };
    const { counts } = await finished({ received: { content: [] }, references });
    expect(counts).toMatchObject({ referenceCharacters: 7, bytesByReference: 100 + more });
  });

  it.each([
    ["path_not_found", 1],
    ["tool_failed", 0],
  ])("of one that failed with %s have %i wrong references", (code, wrongReferences) => {
    const statistics = new MemoryStatistics();
    expect(new CallResults(statistics).failed("take", { code, message: "Why." })).toEqual({
      isError: true,
      content: [block(`${code}: Why.`)],
    });
    const charactersSent = `${code}: Why.`.length;
    expect(statistics.read()).toMatchObject({ calls: 1, kept: 0, charactersSent, wrongReferences });
  });
});
