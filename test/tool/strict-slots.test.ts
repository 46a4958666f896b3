import type { JSONSchema7 } from "ai";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { type Offered, StrictSlots } from "../../src/tool/strict-slots.ts";

const REFERENCE: JSONSchema7 = { type: "string", description: "a reference" };
/** Schemas that are told apart by their type, and have references of their own. */
const NUMBER: JSONSchema7 = { type: "number" };
const ARRAY: JSONSchema7 = { type: "array" };

const dollar = (name: string) => `$${name}`;

function offered(names: readonly string[], write = dollar): readonly Offered[] {
  return names.map((name) => ({ name, text: write(name) }));
}

interface Given {
  readonly number?: readonly Offered[];
  readonly array?: readonly Offered[];
  readonly write?: (name: string) => string;
}

function slotsOf(root: JSONSchema7, { number = [], array = [], write = dollar }: Given) {
  const fitting = (schema: JSONSchema7 | boolean) => (schema === NUMBER ? number : array);
  return new StrictSlots(root, { write, fitting }, { reference: REFERENCE });
}

/** A reference whose alternative has as many characters as JSON. */
function ofLength(chars: number): readonly Offered[] {
  const others = JSON.stringify({ anyOf: [{ ...REFERENCE, enum: [""] }] }).length;
  return [{ name: "long", text: "x".repeat(chars - others) }];
}

const POINTER = { $ref: "#/$defs/references" };
const POINTER_CHARS = JSON.stringify({ anyOf: [POINTER] }).length;
/** The longest alternative that is written at each of its places. */
const SHORT = 2 * POINTER_CHARS;
const object = (properties: Record<string, JSONSchema7 | boolean>): JSONSchema7 => ({
  type: "object",
  properties,
});

describe("the place for references", () => {
  it("does not exist where none fits", () => {
    expect(slotsOf({}, { array: offered(["a"]) }).for(NUMBER)).toBeUndefined();
  });

  it("lists those that fit, with its length as JSON", () => {
    const slots = slotsOf({}, { number: offered(["a", "b"]), array: offered(["c"]) });
    const schema = { ...REFERENCE, enum: ["$a", "$b"] };
    const chars = JSON.stringify({ anyOf: [schema] }).length;
    expect(slots.for(NUMBER)).toEqual({ schema, chars, uses: 1 });
    expect(slots.for(ARRAY)?.schema.enum).toEqual(["$c"]);
  });

  it("asks what fits the schema in its root, with the tool's secrets", () => {
    const asked: unknown[] = [];
    const fitting = (...given: unknown[]) => {
      asked.push(given);
      return [];
    };
    const options = { reference: REFERENCE, secrets: ["key"] };
    const root = object({ a: NUMBER });
    new StrictSlots(root, { write: dollar, fitting }, options).for(NUMBER);
    expect(asked).toEqual([[NUMBER, root, ["key"]]]);
  });
});

describe("references that fit at several places", () => {
  const charsOf = (root: JSONSchema7, chars: number) => {
    const slots = slotsOf(root, { number: ofLength(chars), array: ofLength(chars) });
    return [NUMBER, ARRAY, NUMBER].map((schema) => slots.for(schema)?.chars);
  };

  it("count as a pointer from the second place on, if they are long", () => {
    expect(charsOf({}, SHORT)).toEqual([SHORT, SHORT, SHORT]);
    expect(charsOf({}, SHORT + 1)).toEqual([SHORT + 1, POINTER_CHARS, POINTER_CHARS]);
  });

  it.each<[string, object]>([
    ["has an $id", { $id: "https://a.example/schema" }],
    ["has an $id inside", { properties: { a: { $id: "#a" } } }],
    ["has a list as definitions", { $defs: [] }],
    ["has a text as definitions", { $defs: "none" }],
  ])("are written in full if the root %s", (_, root) => {
    expect(charsOf(root, SHORT + 1)).toEqual([SHORT + 1, SHORT + 1, SHORT + 1]);
  });

  it("count as a pointer in a root that has definitions", () => {
    expect(charsOf({ $defs: { a: NUMBER } }, SHORT + 1)[1]).toBe(POINTER_CHARS);
  });

  it("move to the definitions, under names that are free", () => {
    const defs = { references: NUMBER, references__: true };
    const root = { ...object({}), $defs: defs };
    const slots = slotsOf(root, { number: ofLength(SHORT + 1), array: ofLength(SHORT + 2) });
    const number = slots.for(NUMBER)?.schema ?? {};
    slots.for(NUMBER);
    const array = slots.for(ARRAY)?.schema ?? {};
    slots.for(ARRAY);
    const places = {
      a: { anyOf: [NUMBER, number] },
      b: { items: { anyOf: [ARRAY, array] } },
      c: { anyOf: [NUMBER, number] },
      d: true,
      e: array,
    };
    expect(slots.shared({ ...root, properties: places })).toEqual({
      type: "object",
      properties: {
        a: { anyOf: [NUMBER, { $ref: "#/$defs/references_" }] },
        b: { items: { anyOf: [ARRAY, { $ref: "#/$defs/references___" }] } },
        c: { anyOf: [NUMBER, { $ref: "#/$defs/references_" }] },
        d: true,
        e: { $ref: "#/$defs/references___" },
      },
      $defs: { ...defs, references_: number, references___: array },
    });
  });

  it("stay if each is at one place, or short", () => {
    const slots = slotsOf({}, { number: ofLength(SHORT + 1), array: ofLength(SHORT) });
    const number = slots.for(NUMBER)?.schema ?? {};
    const array = slots.for(ARRAY)?.schema ?? {};
    slots.for(ARRAY);
    const widened = object({ a: number, b: array, c: array });
    expect(slots.shared(widened)).toBe(widened);
  });

  it("move without the others", () => {
    const slots = slotsOf({}, { number: ofLength(SHORT + 1), array: ofLength(SHORT) });
    const number = slots.for(NUMBER)?.schema ?? {};
    slots.for(NUMBER);
    const array = slots.for(ARRAY)?.schema ?? {};
    slots.for(ARRAY);
    expect(slots.shared(object({ a: number, b: array }))).toEqual({
      ...object({ a: POINTER, b: array }),
      $defs: { references: number },
    });
  });
});

describe("a schema with pointers", () => {
  const keywordsWith = (pointer: string) => {
    const root = object({ a: NUMBER, b: { $ref: pointer } });
    return slotsOf(root, { number: offered(["rows[*].a", "b"]) }).for(NUMBER)?.keywords;
  };

  it.each(["#", "#/$defs/a", "#/definitions/a"])("keeps alternatives with %s", (pointer) => {
    expect(keywordsWith(pointer)).toBeUndefined();
  });

  it.each(["#/properties/a", "#/$defs/a/items", "#/other/a", "#a", "other.json", "a#/$defs/a"])(
    "keeps its places with %s",
    (pointer) => {
      const { pattern = "" } = keywordsWith(pointer) ?? {};
      const accepts = (text: string) => new RegExp(pattern, "u").test(text);
      expect(["$rows[*].a", "$b"].map(accepts)).toEqual([true, true]);
      expect(["$rows[].a", "$rows[**.a", "$rows[*]xa", "x$b", "$bx", "$c"].some(accepts)).toBe(
        false,
      );
    },
  );

  it("shares no alternatives if it keeps its places", () => {
    const root = object({ b: { $ref: "#/properties/a" } });
    const slots = slotsOf(root, { number: ofLength(SHORT + 1) });
    const first = slots.for(NUMBER);
    expect(slots.for(NUMBER)?.chars).toBe(SHORT + 1);
    const widened = object({ a: first?.schema ?? {}, c: first?.schema ?? {} });
    expect(slots.shared(widened)).toBe(widened);
  });
});

describe("more references than are listed", () => {
  const MAX = limits.maxReferenceAlternatives;
  const named = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
  const patternOf = (number: readonly Offered[], more: Given = {}) => {
    const { pattern, enum: listed } = slotsOf({}, { ...more, number }).for(NUMBER)?.schema ?? {};
    expect(listed).toBeUndefined();
    return pattern ?? "";
  };

  it("are a pattern", () => {
    const { schema } = slotsOf({}, { number: offered(named(MAX)) }).for(NUMBER) ?? {};
    expect([schema?.enum?.length, schema?.pattern]).toEqual([MAX, undefined]);
    const accepts = new RegExp(patternOf(offered(named(MAX + 1))), "u");
    const right = ["$n0", `$n${MAX}`, "$n1.a[0]", '$n1["x y"][*].b', "$n1[]"];
    expect(right.filter((text) => !accepts.test(text))).toEqual([]);
    const wrong = ["n0", "$n", `$n${MAX + 1}`, "$n1.", "$n1..a", "$n1[", "$n1[a]]", "$n1[\n]"];
    expect([...wrong, "x$n0", "$n0 ", "$n1.a-b"].filter((text) => accepts.test(text))).toEqual([]);
  });

  it("are also the pattern of a place that stays", () => {
    const root = object({ b: { $ref: "#/properties/a" } });
    const { schema, keywords } =
      slotsOf(root, { number: offered(named(MAX + 1)) }).for(NUMBER) ?? {};
    expect(keywords).toEqual({ pattern: schema?.pattern });
    expect(schema?.pattern).toContain("n0");
  });

  it("are written as the model writes them, with any characters", () => {
    const write = (name: string) => String.raw`\^$.*+?(${name})[]{}|/`;
    const accepts = new RegExp(patternOf(offered(named(MAX + 1), write), { write }), "u");
    expect([accepts.test(write("n7")), accepts.test(write("n7.a"))]).toEqual([true, true]);
    expect([accepts.test("n7"), accepts.test(write("m"))]).toEqual([false, false]);
  });

  it("name each variable once, the newest first", () => {
    const number = offered(named(MAX + 1)).flatMap((one) => [one, { ...one, text: "$other" }]);
    const names = /^\^\\\$\(\?:([^)]*)\)/u.exec(patternOf(number))?.[1]?.split("|");
    expect(names).toEqual(named(MAX + 1).reverse());
  });

  it("name the newest for which there is room", () => {
    // Each name has a separator.
    const count = limits.maxWidenedChars / 2 / 32;
    const names = Array.from({ length: count + 1 }, (_, at) => `n${at}`.padStart(31, "x"));
    const accepts = new RegExp(patternOf(offered(names)), "u");
    expect(names.filter((name) => !accepts.test(`$${name}`))).toEqual([names[0]]);
  });
});
