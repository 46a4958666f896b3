import { dynamicTool, jsonSchema, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapTools } from "../../src/tool/tool-call.ts";
import type { Json } from "../../src/value/json.ts";

/** Prepares a call of a tool with this schema. Returns "ready" or the error. */
async function outcomeOf(
  inputSchema: ToolSet[string]["inputSchema"],
  input: Json,
): Promise<string> {
  const execute = (given: unknown) => JSON.stringify(given);
  const tools: ToolSet = { one: dynamicTool({ inputSchema, execute }) };
  const wrapped = await wrapTools(tools, { store: new MemoryStore(), outputPath: true });
  const { signal } = new AbortController();
  const call = { toolCallId: "1", messages: [], signal };
  const prepared = await wrapped.get("one")?.prepare(input, call);
  return prepared?.kind === "failed" ? `${prepared.code}: ${prepared.message}` : "ready";
}

const declared = jsonSchema({ type: "object", properties: { city: {}, _own: {} } });

describe("a parameter that begins with _", () => {
  it.each([
    ["_outputpath", " The nearest is _outputPath."],
    ["_output", " The nearest is _outputPath."],
    ["_descripton", " The nearest is _description."],
    ["_city", " The nearest is city."],
    ["_zzzzzzzzzzzz", ""],
  ])("is refused if it is not declared, with the nearest one: %s", async (key, nearest) => {
    const message = `invalid_tool_input: The tool has no parameter ${key}.${nearest}`;
    expect(await outcomeOf(declared, { city: "Rome", [key]: "x" })).toBe(message);
    const strict = z.object({ city: z.string() });
    expect(await outcomeOf(strict, { city: "Rome", [key]: "x" })).toBe(message);
  });

  it("is truncated in the message if it is long", async () => {
    const message = await outcomeOf(declared, { [`_${"x".repeat(65_536)}`]: 1 });
    expect(message.length).toBeLessThan(200);
  });
});
