import fc from "fast-check";
import { expect, it } from "vitest";
import { createExpander, lookupIn } from "../../src/references.ts";

const variables = { city: "Oslo", orders: [{ id: "a" }, { id: "b" }] };
const text = "In $city: $orders[*].id, not $none, `$city`.";
const expanded = async (pieces: readonly string[]) => {
  const expander = createExpander(lookupIn(variables));
  let shown = "";
  for (const piece of pieces) shown += await expander.push(piece);
  return shown + (await expander.end());
};

it("text pushed in pieces expands like the whole, wherever it is split", async () => {
  const whole = await expanded([text]);
  expect(whole).toContain("In Oslo: ");
  expect(whole).toContain("not $none");
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(text.length)), async (cuts) => {
      const places = [0, ...cuts.toSorted((one, other) => one - other), text.length];
      const pieces = places.slice(1).map((end, index) => text.slice(places[index], end));
      expect(await expanded(pieces)).toBe(whole);
    }),
  );
});

it("a reference is held back until its end is known, and everything else is returned at once", async () => {
  const expander = createExpander(lookupIn(variables));
  expect(await expander.push("In $ci")).toBe("In ");
  expect(await expander.push("ty and on")).toContain("Oslo and");
});
