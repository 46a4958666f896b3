import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codeOf } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";
import { toJson } from "../../src/value/to-json.ts";

/** Returns the error that the conversion throws. */
function refusalOf(value: unknown): unknown {
  try {
    toJson(value);
  } catch (error) {
    return error;
  }
  throw new Error("The value was accepted");
}

const codeOfRefusal = (value: unknown) => codeOf(refusalOf(value));

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = wrap(null);
  for (let level = 1; level < levels; level++) value = wrap(value);
  return value;
}

it("a JSON value is copied equally, whatever it is", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      expect(toJson(value)).toEqual({ value, notes: [] });
    }),
  );
});

it("a JSON value keeps keys named __proto__ as own keys, and creates no prototype from them", () => {
  const value = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as unknown;
  for (const given of [value, new Map([["__proto__", { polluted: true }]])]) {
    const copy = toJson(given).value as object;
    expect(Object.keys(copy)[0]).toBe("__proto__");
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect("polluted" in copy || "polluted" in {}).toBe(false);
  }
  const json = '{"__proto__":{"polluted":true},"constructor":1}';
  expect(JSON.stringify(toJson(value).value)).toBe(json);
});

it("a JSON value is made from the own fields of class instances and objects without a prototype", () => {
  expect(toJson([Object("x"), Object(false)])).toEqual({ value: ["x", false], notes: [] });
  class Point {
    x = 1;
    get double(): number {
      return this.x * 2;
    }
  }
  const bare = Object.assign(Object.create(null), { y: 2 });
  expect(toJson([new Point(), bare]).value).toEqual([{ x: 1 }, { y: 2 }]);
});

const day = new Date(Date.UTC(2025, 0, 2, 3, 4, 5, 6));

describe("a conversion", () => {
  const MAPS = "Maps became objects.";
  const SETS = "Sets became arrays.";
  const error = new TypeError("no");
  const errorAsJson = { name: "TypeError", message: "no" };

  it.each<[string, [value: unknown, converted: unknown], string]>([
    ["a date", [day, "2025-01-02T03:04:05.006Z"], "Dates became ISO strings."],
    ["an invalid date", [new Date(Number.NaN), null], "Invalid dates became null."],
    ["a Map", [new Map([[2, ["b"]]]), { "2": ["b"] }], MAPS],
    ["a Set", [new Set(["a", { b: 1 }]), ["a", { b: 1 }]], SETS],
    ["a BigInt", [2n ** 64n, "18446744073709551616"], "BigInts became strings."],
    ["an error", [error, errorAsJson], "Errors became their name and message."],
    ["an expression", [/a/g, "/a/g"], "Regular expressions became strings."],
    ["NaN", [Number.NaN, null], "Numbers that are not finite became null."],
    ["Infinity", [-Infinity, null], "Numbers that are not finite became null."],
  ])("accepts %s, alone and nested, with a note", (_name, [value, converted], note) => {
    expect(toJson(value)).toEqual({ value: converted, notes: [note] });
    expect(toJson({ a: [value] })).toEqual({ value: { a: [converted] }, notes: [note] });
  });

  it.each<[string, given: unknown, json: string, ...notes: string[]]>([
    ["the contents of Maps and Sets", new Map([["k", new Set(["1"])]]), '{"k":["1"]}', MAPS, SETS],
    [
      "no functions and symbols",
      { f() {}, s: Symbol("s"), list: [() => 1, 2], kept: 1 },
      '{"list":[null,2],"kept":1}',
      "Functions and symbols were left out.",
    ],
    ["undefined like JSON", { a: undefined, b: [undefined, 1] }, '{"b":[null,1]}'],
    ["null in place of undefined", undefined, "null"],
    ["null in the holes of an array", Object.assign([], { 2: "d" }), '[null,null,"d"]'],
    ["the result of toJSON", new URL("https://a.example/b"), '"https://a.example/b"'],
    [
      "the converted result of toJSON",
      { a: { toJSON: () => ({ n: [1n] }), hidden: 1 } },
      '{"a":{"n":["1"]}}',
      "BigInts became strings.",
    ],
    ["nothing whose toJSON returns nothing", { a: { toJSON: () => undefined }, b: 1 }, '{"b":1}'],
    ["a toJSON that is no function", { toJSON: "text" }, '{"toJSON":"text"}'],
  ])("has %s", (_, given, json, ...notes) => {
    const { value, notes: noted } = toJson(given);
    expect([JSON.stringify(value), noted]).toEqual([json, notes]);
  });
});

describe("a refused value", () => {
  const cyclic: { inner: { up?: unknown } } = { inner: {} };
  cyclic.inner.up = cyclic;
  const cyclicMap = new Map<string, unknown>();
  cyclicMap.set("self", new Set([cyclicMap]));

  const throwing = (thrown: unknown) => ({
    toJSON: () => {
      throw thrown;
    },
  });
  const revoked = (target: object) => {
    const { proxy, revoke } = Proxy.revocable(target, {});
    revoke();
    return proxy;
  };
  const failing = (trap: keyof ProxyHandler<object>) =>
    new Proxy({ a: 1 }, { [trap]: () => throwing(new Error(`${trap} is closed`)).toJSON() });
  const accessor = {
    get secret() {
      throw new RangeError("not today");
    },
  };
  const traps = ["ownKeys", "get", "getPrototypeOf"] as const;

  type Row = [string, unknown, RegExp?];

  it.each<Row>([
    ["an object that contains itself", cyclic, /contains itself/],
    ["a Map and a Set that contain each other", cyclicMap, /contains itself/],
    ["a Uint8Array", new Uint8Array([1]), /Bytes/],
    ["an ArrayBuffer", new ArrayBuffer(1), /Bytes/],
    ["an accessor that throws", { inner: accessor }, /not today/],
    ["Headers", new Headers({ a: "1" }), /without fields/],
    ["a generator", [1].values(), /without fields/],
    ["what looks like a date", Object.create(Date.prototype)],
    [
      "a Map with two keys of one text",
      new Map<unknown, unknown>([
        [1, 1],
        ["1", 2],
      ]),
    ],
    // ravionhq/superjson#35
    ...[{ a: 1 }, [1], day, /a/, Symbol("a")].map((key): Row => [
      `a Map with the key ${String(key)}`,
      new Map<unknown, unknown>([[key, 1]]),
    ]),
    ["a revoked object", revoked({})],
    ...traps.map((trap): Row => [`a proxy whose ${trap} throws`, failing(trap), /is closed/]),
    ...[new Error("boom"), null].map((thrown): Row => [
      `a toJSON that throws ${String(thrown)}`,
      throwing(thrown),
    ]),
  ])("is %s, alone and nested", (_, value, message = /cannot be kept/) => {
    const refusal = { code: "bad_value", message: expect.stringMatching(message) };
    expect(refusalOf(value)).toMatchObject(refusal);
    expect(refusalOf({ a: [value] })).toMatchObject(refusal);
  });

  it.each<[string, unknown]>([
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["nothing but a toJSON that returns nothing", { toJSON: () => undefined }],
  ])("is %s, alone", (_, value) => {
    expect(refusalOf(value)).toMatchObject({ code: "bad_value" });
  });

  it("is what never ends", () => {
    const deeper = (): object =>
      new Proxy({ a: 1 }, { get: (_, key) => (key === "a" ? deeper() : undefined) });
    const again = (): object => ({ toJSON: again });
    for (const value of [deeper(), again()]) expect(codeOfRefusal(value)).toBe("limit_exceeded");
  });
});

describe("bounds", () => {
  it.each<[string, (inner: unknown) => unknown]>([
    ["arrays", (inner) => [inner]],
    ["objects", (inner) => ({ inner })],
    ["Maps", (inner) => new Map([["inner", inner]])],
    ["Sets", (inner) => new Set([inner])],
  ])("200 nested %s are accepted, 201 are refused", (_name, wrap) => {
    expect(JSON.stringify(toJson(nested(limits.maxDepth, wrap)).value)).toContain("null");
    expect(codeOfRefusal(nested(100_000, wrap))).toBe("limit_exceeded");
    expect(refusalOf(nested(limits.maxDepth + 1, wrap))).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "maxDepth", maximum: limits.maxDepth, actual: limits.maxDepth + 1 },
    });
  });

  it("a text with 16 MiB of JSON is accepted, a longer one is refused", () => {
    const quotes = 2;
    for (const chars of [limits.maxJsonBytes - quotes - 1, limits.maxJsonBytes - quotes]) {
      expect(toJson("x".repeat(chars)).value).toHaveLength(chars);
    }
    expect(refusalOf("x".repeat(limits.maxJsonBytes))).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "maxJsonBytes", maximum: limits.maxJsonBytes },
    });
  });

  it("a few objects that expand to 2^60 texts hit the limit before they fill the memory", () => {
    let value: unknown = "x".repeat(10_000);
    for (let level = 0; level < 60; level++) value = { left: value, right: [value] };
    expect(refusalOf(value)).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "maxJsonBytes" },
    });
  });
});
