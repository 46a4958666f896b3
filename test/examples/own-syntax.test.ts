import { expect, it } from "vitest";
import { percent } from "../../examples/own-syntax/percent.ts";
import { expandText, lookupIn, resolveReferences } from "../../src/references.ts";
import { cutsOf, streamed } from "../support/streamed.ts";

const lookup = lookupIn({ city: { name: "Oslo", temps: [1, 2] }, x: 1 });
const syntaxes = [percent];

it.each([
  ["In %{city.name}, %{city.temps[1]} °C.", "In Oslo, 2 °C."],
  ["%{x}%{x}", "11"],
  ["100 % of %{nobody} and %{x", "100 % of %{nobody} and %{x"],
  ["\\%{x} is %{x}", "%{x} is 1"],
  ["`%{x}` https://a.example/%{x} %{x}", "`%{x}` https://a.example/%{x} 1"],
])("a custom syntax expands %j, however it is split", async (text, expected) => {
  for (const chunks of cutsOf(text)) {
    expect(await streamed(expandText(lookup, { syntaxes }), chunks)).toBe(expected);
  }
});

it("a custom syntax gives tools the value itself", async () => {
  const input = { temps: "%{city.temps}", text: "%{city.name}!" };
  const { value } = await resolveReferences(input, lookup, { syntaxes });
  expect(value).toEqual({ temps: [1, 2], text: "Oslo!" });
});

it("a custom syntax works beside the others", async () => {
  const expanded = streamed(expandText(lookup, { syntaxes: ["dollar", percent] }), ["$x %{x}"]);
  expect(await expanded).toBe("1 1");
});
