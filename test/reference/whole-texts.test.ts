import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import { resolveReferences } from "../../src/reference/resolve.ts";

it("a target has the same maximum length as held references", async () => {
  const opening = "variable:v['";
  const key = "k".repeat(limits.maxHeldChars - opening.length - 2);
  const lookup = lookupIn({ v: { [key]: 7, [`${key}k`]: 8 } });
  const read = async (text: string) =>
    (await resolveReferences(text, lookup, { syntaxes: ["target"] })).value;
  expect(await read(`${opening}${key}']`)).toBe(7);
  expect(await read(`${opening}${key}k']`)).toBe(`${opening}${key}k']`);
});

it("an unknown whole reference is listed once, in inline syntaxes and in others", async () => {
  for (const [source, syntax] of [
    ["$nope.a", "dollar"],
    ["variable:nope.a", "target"],
  ] as const) {
    const { value, unresolved } = await resolveReferences({ source }, lookupIn({}), {
      syntaxes: [syntax],
    });
    expect(value).toEqual({ source });
    expect(unresolved.map(({ reference }) => reference)).toEqual([source]);
  }
});
