import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isValidName,
  nameForCall,
  requireName,
  splitNumber,
  toIdentifier,
} from "../../src/store/names.ts";
import { type Json, parsedJson } from "../../src/value/json.ts";

const anyText = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }));
const wordText = fc.stringMatching(/^\w{0,80}$/);
const validName = fc.stringMatching(/^[A-Za-z_]\w{0,63}$/);

describe("the name for a call", () => {
  it.each([
    ["get-weather", { location: "NYC" }, "get_weather_nyc"],
    ["get_weather", { city: "São Paulo" }, "get_weather_sao_paulo"],
    ["getWeather", { city: "Zürich" }, "getWeather_zurich"],
    ["search", { query: "pizza 🍕 near me!" }, "search_pizza_near_me"],
    ["get_order", { id: 42 }, "get_order_42"],
    ["get_order", { id: 0 }, "get_order_0"],
    ["fetch", { url: "https://example.com/a?b=c" }, "fetch_https_example_com_a_b_c"],
    ["🍕", { city: "NYC" }, "nyc"],
    ["7zip", { path: "a.zip" }, "var_7zip_a_zip"],
    // The most descriptive argument, not the first.
    ["get", { note: "n", path: "p", city: "c" }, "get_c"],
    ["get", { note: "n", id: 3 }, "get_3"],
    ["get", { days: 3, note: "n", other: "o" }, "get_n"],
    ["get", { query: "q".repeat(60) }, `get_${"q".repeat(30)}`],
    ["get", { query: "q".repeat(61), url: "u" }, "get_u"],
  ])("%s with %j is %s", (tool, input, base) => {
    expect(nameForCall(tool, input)).toEqual({ base, numbered: false });
  });

  it.each<readonly [string, Json, string]>([
    ["list-orders", {}, "list_orders"],
    ["list_orders", { page: 2, all: true, after: null }, "list_orders"],
    ["list_orders", ["NYC"], "list_orders"],
    ["list_orders", "NYC", "list_orders"],
    ["list_orders", null, "list_orders"],
    ["🍕", {}, "variable"],
    ["", {}, "variable"],
    ["_private", {}, "private"],
    ["123", {}, "var_123"],
    ["get", { query: "q".repeat(61) }, "get"],
    ["get", parsedJson(`{"__proto__": {"city": "NYC"}}`), "get"],
    ...["this", "root", "constructor", "prototype", "toString"].map(
      (word) => [word, {}, `var_${word}`] as const,
    ),
  ])("%s with %j, without a descriptive argument, is numbered", (tool, input, base) => {
    expect(nameForCall(tool, input)).toEqual({ base, numbered: true });
  });

  it("is valid for any tool and input, even with a number", () => {
    const anyInput = fc.oneof(
      fc.jsonValue(),
      fc.record({ id: anyText }),
      fc.record({ x: anyText }),
    );
    fc.assert(
      fc.property(fc.oneof(anyText, wordText), anyInput, fc.nat(9_999_999), (tool, input, n) => {
        const { base } = nameForCall(tool, JSON.parse(JSON.stringify(input)));
        expect(base).toSatisfy(isValidName);
        expect(`${base}_${n}`).toSatisfy(isValidName);
      }),
      { numRuns: 500 },
    );
  });
});

it("an identifier consists of letters, digits and inner underscores, and is idempotent", () => {
  fc.assert(
    fc.property(fc.oneof(anyText, wordText), (text) => {
      const identifier = toIdentifier(text);
      expect(identifier).toMatch(/^([A-Za-z0-9](\w*[A-Za-z0-9])?)?$/);
      expect(toIdentifier(identifier)).toBe(identifier);
    }),
    { numRuns: 500 },
  );
});

it.each([
  ["get-weather", "get_weather"],
  ["  a  --  b  ", "a_b"],
  ["Ångström", "Angstrom"],
  ["ﬁle①", "file1"],
  ["日本", ""],
  ["\ud800x\udc00", "x"],
  ["Keep Case", "Keep_Case"],
])("an identifier of %j is %j", (text, identifier) => {
  expect(toIdentifier(text)).toBe(identifier);
});

it("a name chosen by a caller is valid exactly if it matches the grammar", () => {
  fc.assert(
    fc.property(fc.oneof(anyText, wordText, validName), (text) => {
      const isValid = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(text);
      expect(isValidName(text)).toBe(isValid);
      if (isValid) expect(requireName(text)).toBe(text);
      else expect(() => requireName(text)).toThrow(expect.objectContaining({ code: "bad_name" }));
    }),
    { numRuns: 500, examples: [["a\n"], ["é"], [""], ["$a"]] },
  );
});

it("splitNumber returns the base and the number after it", () => {
  fc.assert(
    fc.property(validName, fc.nat({ max: 999_999_999 }), (base, number) => {
      expect(splitNumber(`${base}_${number}`)).toEqual({ base, number });
    }),
  );
});

it.each(["orders", "orders_", "_7", "7", "_", "", "orders7", "orders_7a", "orders_7_"])(
  "splitNumber finds no number in %j",
  (name) => expect(splitNumber(name)).toBeUndefined(),
);
