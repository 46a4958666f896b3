import { describe, expect, it } from "vitest";
import { instructionsFor } from "../src/instructions.ts";
import { startGateway } from "../../../test/support/gateway.ts";
import { RawServer } from "../../../test/support/raw-server.ts";

const SCHEMA = { type: "object" };

/** Starts a gateway before a server whose only tool returns these results in order. */
async function behindGateway(...results: readonly object[]) {
  const left = [...results];
  const raw = new RawServer({
    "tools/list": () => ({ tools: [{ name: "give", inputSchema: SCHEMA }] }),
    "tools/call": () => left.shift(),
  });
  return startGateway([{ name: "raw", make: () => raw }]);
}

describe("inlineChars", () => {
  it("applies to a server, can be overridden for its tools, and is exact to the character", async () => {
    const texts = { a: "x".repeat(20), b: "x".repeat(21), short_a: "x", long_a: "x".repeat(1_000) };
    const raw = new RawServer({
      "tools/list": () => ({
        tools: Object.keys(texts).map((name) => ({ name, inputSchema: SCHEMA })),
      }),
      "tools/call": ({ name }) => ({
        content: [{ type: "text", text: texts[name as keyof typeof texts] }],
      }),
    });
    const plain = new RawServer({
      "tools/list": () => ({ tools: [{ name: "other", inputSchema: SCHEMA }] }),
      "tools/call": () => ({ content: [{ type: "text", text: "x".repeat(21) }] }),
    });
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
});

it("the gateway describes itself in at most 1,500 characters, and its own tools in 3,000", async () => {
  const { client } = await behindGateway();
  const instructions = client.getInstructions() ?? "";
  expect(instructions).toBe(instructionsFor({ canQuery: true }));
  expect(instructions.length).toBeLessThanOrEqual(1_500);
  const { tools } = await client.listTools();
  const own = tools.filter(({ name }) => name !== "give");
  expect(own.length).toBeGreaterThanOrEqual(4);
  expect(JSON.stringify(own).length).toBeLessThanOrEqual(3_000);
});

it("the instructions and schemas name what is offered, and nothing else", async () => {
  const { client } = await behindGateway();
  const { tools } = await client.listTools();
  const namesIn = (text: string) => text.match(/\b[a-z]+_variables?\b/gu) ?? [];
  const offered = new Set(tools.map(({ name }) => name));
  expect(namesIn(client.getInstructions() ?? "").filter((name) => !offered.has(name))).toEqual([]);
  expect(namesIn(instructionsFor({ canQuery: false }))).toEqual(["read_variable", "edit_variable"]);
  const edit = tools.find(({ name }) => name === "edit_variable");
  expect(Object.keys(edit?.inputSchema.properties ?? {})).toEqual(["name", "edits", "saveAs"]);
});
