import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Unresolved } from "../../src/reference/expand.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import { interpolate, resolveReferences } from "../../src/reference/resolve.ts";
import type { Json } from "../../src/value/json.ts";
import type { Path } from "../../src/value/path.ts";
import { expanded } from "../support/streamed.ts";
import { slow } from "../support/slow.ts";

const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key_${n}`, n]));
const times = (count: number, write: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => write(n)).join(" ");

it("misses are explained two hundred times, and then only listed", slow, async () => {
  const lookup = lookupIn({ value: wide });
  const near = (unresolved: readonly Unresolved[]) =>
    unresolved.filter((one) => one.near !== undefined).length;
  const { unresolved } = await interpolate(
    times(300, (n) => `{{value.kei_${n}}}`),
    lookup,
  );
  expect([unresolved.length, near(unresolved)]).toEqual([300, limits.maxBatchItems]);
  const answer = expanded(
    lookup,
    times(300, (n) => `$value.kei_${n}`),
  );
  expect([answer.unresolved.length, near(answer.unresolved)]).toEqual([300, limits.maxBatchItems]);
  const unknown = await interpolate(
    times(300, (n) => `{{value${n}x}}`),
    lookupIn({ value1: 1, value2: 2 }),
  );
  expect(unknown.unresolved[0]?.near).toEqual(["value1", "value2"]);
  expect(unknown.unresolved[299]?.near).toBeUndefined();
});

it("misses do not prevent later references from being found", () => {
  const text = times(300, (n) => `$value.kei_${n}`);
  const answer = expanded(lookupIn({ value: wide }), `${text} $value.key_7`);
  expect(answer.text).toBe(`${text} 7`);
});

it("a repeated reference in an input is read once, with or without a path, but counted each time", async () => {
  const asked: { name: string; path: Path }[] = [];
  const inner = lookupIn({ v: { text: "x".repeat(4_000_000), list: [1, 2, 3] } });
  const lookup: Lookup = (reference, work) => {
    asked.push(reference);
    return inner(reference, work);
  };
  const { value } = await resolveReferences(["$v.list", "$v.list[0:]", "in $v.list"], lookup);
  expect(value).toEqual([[1, 2, 3], [1, 2, 3], "in [1,2,3]"]);
  expect(asked).toHaveLength(2);
  const four = Array.from({ length: 4 }, () => "$v.text");
  await resolveReferences(four, lookup);
  expect(asked).toHaveLength(3);
  await expect(resolveReferences([...four, "$v.text"], lookup)).rejects.toMatchObject({
    code: "limit_exceeded",
    message: expect.stringContaining("Pass fewer large values, or slices of them."),
    details: { limit: "maxInsertedChars", actual: 20_000_000 },
  });
});

it("a repeated reference in an input counts the size of a slice, a projection or a key", async () => {
  const rows = Array.from({ length: 100 }, () => ({ s: "x".repeat(99_998) }));
  const lookup = lookupIn({ v: { rows } });
  for (const written of ["$v.rows", "$v.rows[0:]", "$v.rows[*].s"]) {
    await resolveReferences([written], lookup);
    await expect(resolveReferences([written, written], lookup)).rejects.toMatchObject({
      details: { limit: "maxInsertedChars" },
    });
  }
});

it("a repeated reference in an input is not serialized inside a text if it is too large for it", async () => {
  const large = Array.from({ length: 200_000 }, (_, n) => ({ n }));
  let written = 0;
  const value = large.map((row) => ({ ...row, toJSON: () => written++ })) as unknown as Json;
  await expect(resolveReferences("so $v.rows", lookupIn({ v: { rows: value } }))).rejects.toThrow(
    /maxEmbeddedChars/,
  );
  expect(written).toBe(0);
});
