import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Lookup } from "../../src/reference/lookup.ts";
import type { Reference } from "../../src/reference/reference.ts";
import { resolveReferences, type ResolveOptions } from "../../src/reference/resolve.ts";
import { deepFreeze, type Json } from "../../src/value/json.ts";

const orders = deepFreeze([
  { id: 1, customer: { name: "Ada" } },
  { id: 2, customer: { name: "Grace" } },
]);
const variables = { orders, temp: 72, city: "New York", nothing: null, text: "a😀" };

/** Creates a lookup of the variables above that records the requested references. */
function counting(known: Lookup = lookupIn(variables)) {
  const asked: Reference[] = [];
  const lookup: Lookup = (reference) => {
    asked.push(reference);
    return known(reference);
  };
  return { asked, lookup };
}

function resolve(input: Json, options?: ResolveOptions, lookup: Lookup = lookupIn(variables)) {
  return resolveReferences(input, lookup, options);
}

async function valueOf(input: Json, options?: ResolveOptions, lookup?: Lookup): Promise<Json> {
  return (await resolve(input, options, lookup)).value;
}

/** Returns the error of a resolution. */
async function problemOf(input: Json, options?: ResolveOptions, lookup?: Lookup): Promise<unknown> {
  try {
    await resolve(input, options, lookup);
  } catch (error) {
    return error;
  }
  throw new Error("It was resolved");
}

const dagger: ResolveOptions = { syntaxes: ["dagger"] };

it("a whole reference is the same frozen object that the lookup returned", async () => {
  const { value } = await resolve({ all: "$orders", one: "${orders[1].customer}", n: 1 });
  const { all, one } = value as { all: Json; one: Json };
  expect(all).toBe(orders);
  expect(one).toBe(orders[1]?.customer);
  expect(Object.isFrozen(one)).toBe(true);
});

it("input without references is not modified, nor is input with references", async () => {
  const input = deepFreeze({ list: ["$temp", { deep: "t: $temp" }] });
  expect(await valueOf(input)).toEqual({ list: [72, { deep: "t: 72" }] });
  expect(input).toEqual({ list: ["$temp", { deep: "t: $temp" }] });
});

it("input without references keeps its keys, even if they look like references or prototypes", async () => {
  const input: Json = JSON.parse('{"$temp": "$temp", "__proto__": {"a": "$city"}, "p": "x"}');
  const value = (await valueOf(input)) as object;
  expect(JSON.stringify(value)).toBe('{"$temp":72,"__proto__":{"a":"New York"},"p":"x"}');
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
});

it("unknown names stay as written and are listed with similar names", async () => {
  const { value, unresolved } = await resolve({ a: "$tmp", b: "in $citi, $HOMESTEAD.x" });
  expect(value).toEqual({ a: "$tmp", b: "in $citi, $HOMESTEAD.x" });
  expect(unresolved).toMatchObject([
    { reference: "$tmp", code: "variable_not_found", near: ["temp"] },
    { reference: "$citi", code: "variable_not_found", near: ["city"] },
    { reference: "$HOMESTEAD.x", code: "variable_not_found" },
  ]);
  expect(unresolved[0]?.message).toContain("Did you mean temp?");
});

it("unknown names are an error on request, whole or embedded, but not when escaped", async () => {
  const problem = { code: "variable_not_found", details: { near: ["temp"] } };
  expect(await problemOf(["$tmp"], { unknown: "error" })).toMatchObject(problem);
  expect(await problemOf(["is $tmp."], { unknown: "error" })).toMatchObject(problem);
  expect(await valueOf(["\\$tmp", "$5", "$temp"], { unknown: "error" })).toEqual([
    "\\$tmp",
    "$5",
    72,
  ]);
});

it("alternatives return the first that exists, and stop there", async () => {
  const { asked, lookup } = counting();
  expect(await valueOf("†nope || †orders||†temp", dagger, lookup)).toBe(orders);
  expect(asked.map(({ name }) => name)).toEqual(["nope", "orders"]);
  expect(await valueOf("†temp && †orders", dagger)).toBe(orders);
});

describe("bounds", () => {
  function nested(levels: number): Json {
    let value: Json = "$temp";
    for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { value };
    return value;
  }

  const bounds = new Map<string, unknown>(Object.entries(limits));

  function exceeded(limit: string, actual: number, advice: string) {
    const details = { limit, maximum: bounds.get(limit), actual };
    const message = expect.stringContaining(advice);
    return { name: "ReferenceProblem", code: "limit_exceeded", details, message };
  }

  const text = (chars: number): Lookup => lookupIn({ t: "x".repeat(chars) });

  it("of nesting: 199 and 200 levels resolve, 201 do not", async () => {
    for (const levels of [limits.maxDepth - 1, limits.maxDepth]) {
      expect(JSON.stringify(await valueOf(nested(levels)))).toContain("72");
    }
    for (const levels of [limits.maxDepth + 1, 50_000]) {
      expect(await problemOf(nested(levels))).toMatchObject(
        exceeded("maxDepth", 201, "Pass deep data by one reference."),
      );
    }
  });

  it("of references: 999 and 1,000 resolve, 1,001 do not, and unknown ones count", async () => {
    const maximum = limits.maxItems;
    for (const count of [maximum - 1, maximum]) {
      expect(await valueOf(Array(count).fill("$temp"))).toEqual(Array(count).fill(72));
    }
    const problem = exceeded("maxItems", maximum + 1, "Pass one reference to a list");
    expect(await problemOf(Array(maximum + 1).fill("$temp"))).toMatchObject(problem);
    expect(await problemOf("$nope $temp ".repeat(maximum))).toMatchObject(problem);
  });

  it("of one embedded text: 1 MiB resolves, one character more does not, but does when whole", async () => {
    const maximum = limits.maxEmbeddedChars;
    for (const chars of [maximum - 1, maximum]) {
      expect(await valueOf("<$t>", {}, text(chars))).toHaveLength(chars + 2);
    }
    const above = text(maximum + 1);
    const advice = "Pass $t alone, as the whole string.";
    const problem = exceeded("maxEmbeddedChars", maximum + 1, advice);
    expect(await problemOf("<$t>", {}, above)).toMatchObject(problem);
    expect(await valueOf("$t", {}, above)).toHaveLength(maximum + 1);
  });

  it("of all embedded text: 16 MiB resolve, one character more does not", async () => {
    const sixteenth = lookupIn({ t: "x".repeat(limits.maxInsertedChars / 16), one: "1" });
    const at = Array<Json>(16).fill("$t ");
    expect(await valueOf(at.slice(1), {}, sixteenth)).toHaveLength(15);
    expect(await valueOf([...at, "$t"], {}, sixteenth)).toHaveLength(17);
    expect(await problemOf([...at, "$one "], {}, sixteenth)).toMatchObject(
      exceeded("maxInsertedChars", limits.maxInsertedChars + 1, "Pass large values alone"),
    );
  });
});

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
