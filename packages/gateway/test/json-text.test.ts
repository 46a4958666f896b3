import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JSONSchema7 } from "ai";
import { describe, expect, it } from "vitest";
import { savedValue, textOf, textsFor } from "../src/json-text.ts";
import { Content } from "../../../src/store/bytes/content.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { type Json, parsedJson } from "../../../src/value/json.ts";

const block = (text: string) => ({ type: "text" as const, text });

/** A server's result with one text, and with structured content if given. */
function result(text: string, structuredContent?: object): CallToolResult {
  return { content: [block(text)], ...(structuredContent && { structuredContent }) };
}

/** Saves the value of a result as `a`, and returns it as it is read again. */
async function saved(given: CallToolResult) {
  const store = new MemoryStore();
  const value = savedValue(given);
  await store.save({ name: "a", value: value instanceof Content ? value : (value as Json) });
  return { store, value: (await store.read("a")) ?? null };
}

/** Returns the text that was kept with the value of a result. */
async function keptText(given: CallToolResult) {
  const { store, value } = await saved(given);
  return textOf("a", value, store);
}

describe("the text of a server's JSON", () => {
  it.each([
    ["compact", '{"a":1}'],
    ["with spaces", '{ "a": 1.0 }\n'],
    ["an array", "[1, 2,\n 3]"],
  ])("is kept as it was received: %s", async (_what, text) => {
    expect(await keptText(result(text))).toBe(text);
  });

  it("is kept beside structured content that has all digits", async () => {
    const text = '{ "id": 1234567890123456789 }';
    expect(await keptText(result(text, parsedJson(text) as object))).toBe(text);
  });

  it("is not kept with a lone surrogate, which UTF-8 has no bytes for", async () => {
    expect(await keptText(result('{ "a": "\uD800" }'))).toBeUndefined();
  });
});

describe("a whole reference to JSON that was read from a text", () => {
  const types = (type: JSONSchema7["type"]): JSONSchema7 => ({
    type: "object",
    properties: { in: { type: "object", properties: { at: { type } } } },
  });

  /** Returns what is passed on to a place of this type. */
  async function passed(text: string, type: JSONSchema7["type"], path: readonly string[] = []) {
    const { store, value } = await saved(result(text));
    const reference = { name: "a", path } as never;
    return textsFor(types(type), store)(reference, value, ["in", "at"]);
  }

  it("is the value for a part of the variable, and for a text", async () => {
    expect(await passed("[1, 2]", "string", ["x"])).toBeUndefined();
    expect(await passed("text", ["number"])).toBeUndefined();
    expect(await passed('"text"', "string")).toBeUndefined();
  });
});
