import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { digestOf } from "../../src/tool/tool-input.ts";
import type { Json } from "../../src/value/json.ts";

const sha = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 32);

const large = (last: string): readonly (readonly [string, Json])[] => [
  ["records", [...Array.from({ length: 5_000 }, (_, id) => ({ id, text: "row" })), last]],
  ["a text", "€\n".repeat(100_000) + last],
  ["an object", { a: ["x".repeat(200_000)], b: { c: "y".repeat(200_000), last } }],
  ["nested single elements", [[["z".repeat(100_000) + last]]]],
];

describe("the digest of an input", () => {
  it("equals that of its JSON with sorted keys if it is small", async () => {
    expect(await digestOf({ b: [1, "€"], a: null })).toBe(sha('{"a":null,"b":[1,"€"]}'));
    expect(await digestOf({ a: null, b: [1, "€"] })).toBe(sha('{"a":null,"b":[1,"€"]}'));
  });

  it("differs for large inputs that differ only in the last character", async () => {
    for (const [index, [, value]] of large("a").entries()) {
      expect(await digestOf(value)).toBe(await digestOf(structuredClone(value)));
      expect(await digestOf(value)).not.toBe(await digestOf(large("b")[index]?.[1] ?? null));
    }
  });

  it("differs for a large text and a list of its parts", async () => {
    const text = "x".repeat(100_000);
    const parts = [text.slice(0, 50_000), text.slice(50_000)];
    const digests = [text, parts, [parts], { parts }, [...parts, ""]].map((one) => digestOf(one));
    expect(new Set(await Promise.all(digests)).size).toBe(5);
  });

  it("differs for different bytes", async () => {
    const bytes = (length: number) => new Uint8Array(length).fill(7) as unknown as Json;
    const inputs = [[bytes(10)], [bytes(11)], [bytes(100_000)], [bytes(100_001)], bytes(10)];
    const digests = await Promise.all(inputs.map((one) => digestOf(one)));
    expect(new Set(digests).size).toBe(5);
  });
});

describe("the digests of bytes and of what could be taken for them", () => {
  const bytes = (...values: readonly number[]) => new Uint8Array(values) as unknown as Json;
  const long = "x".repeat(70_000);

  it.each([
    ["an object of their indexes", bytes(104, 105), { 0: 104, 1: 105 }],
    ["one in another place", [{ 0: 1 }, bytes(1)], [bytes(1), { 0: 1 }]],
    ["one under another key", { a: { 0: 1 }, b: bytes(1) }, { a: bytes(1), b: { 0: 1 } }],
    ["no bytes and an empty object", bytes(), {}],
    ["a text that looks as they are written", [bytes(104)], ["\0aA=="]],
    ["a text that begins with one more", ["\0\0aA=="], ["\0aA=="]],
    ["one in a large input", [long, bytes(104)], [long, { 0: 104 }]],
  ])("differ for %s", async (_, one, other) => {
    expect(await digestOf(one)).not.toBe(await digestOf(other));
  });

  it("do not depend on the order of keys", async () => {
    const one = { a: bytes(1), b: bytes(2), c: 1 };
    expect(await digestOf({ c: 1, b: bytes(2), a: bytes(1) })).toBe(await digestOf(one));
  });
});
