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

function codeOfRefusal(value: unknown) {
  return codeOf(refusalOf(value));
}

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = wrap(null);
  for (let level = 1; level < levels; level++) value = wrap(value);
  return value;
}

describe("a JSON value", () => {
  it("is copied equally, whatever it is", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        expect(toJson(value)).toEqual({ value, notes: [] });
      }),
    );
  });

  it("keeps keys named __proto__ and constructor as own keys, and creates no prototype from them", () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}');
    const copy = toJson(value).value as object;
    expect(Object.keys(copy)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect("polluted" in copy).toBe(false);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"polluted":true},"constructor":1}');
    expect("polluted" in {}).toBe(false);
  });

  it("keeps such keys from a Map", () => {
    const copy = toJson(new Map([["__proto__", { polluted: true }]])).value as object;
    expect(Object.keys(copy)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  it("is made from the own fields of class instances and objects without a prototype", () => {
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
});

it("a copy shares no object with the original, at any depth", () => {
  function objectsOf(value: unknown): object[] {
    if (typeof value !== "object" || value === null) return [];
    return [value, ...Object.values(value).flatMap(objectsOf)];
  }
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const originals = new Set(objectsOf(value));
      const copies = objectsOf(toJson(value).value);
      expect(copies).toHaveLength(originals.size);
      expect(copies.some((copy) => originals.has(copy))).toBe(false);
    }),
  );
});

describe("a conversion", () => {
  const day = new Date(Date.UTC(2025, 0, 2, 3, 4, 5, 6));
  const error = new TypeError("no");
  const errorAsJson = { name: "TypeError", message: "no" };

  it.each<[string, [value: unknown, converted: unknown], string]>([
    ["a date", [day, "2025-01-02T03:04:05.006Z"], "Dates became ISO strings."],
    ["an invalid date", [new Date(Number.NaN), null], "Invalid dates became null."],
    ["a Map", [new Map([[2, ["b"]]]), { "2": ["b"] }], "Maps became objects."],
    ["a Set", [new Set(["a", { b: 1 }]), ["a", { b: 1 }]], "Sets became arrays."],
    ["a BigInt", [2n ** 64n, "18446744073709551616"], "BigInts became strings."],
    ["an error", [error, errorAsJson], "Errors became their name and message."],
    ["an expression", [/a/g, "/a/g"], "Regular expressions became strings."],
    ["NaN", [Number.NaN, null], "Numbers that are not finite became null."],
    ["Infinity", [-Infinity, null], "Numbers that are not finite became null."],
  ])("accepts %s, alone and nested, with a note", (_name, [value, converted], note) => {
    expect(toJson(value)).toEqual({ value: converted, notes: [note] });
    expect(toJson({ a: [value] })).toEqual({ value: { a: [converted] }, notes: [note] });
  });

  it("is noted once per kind, in order of appearance", () => {
    expect(toJson([1n, day, 2n, new Set([3n, day])]).notes).toEqual([
      "BigInts became strings.",
      "Dates became ISO strings.",
      "Sets became arrays.",
    ]);
  });

  it("includes the contents of Maps and Sets", () => {
    expect(toJson(new Map([["k", new Set([1n])]])).value).toEqual({ k: ["1"] });
  });

  it("omits functions and symbols from objects, makes them null in arrays, and notes it", () => {
    const value = { f() {}, s: Symbol("s"), list: [() => 1, 2], kept: 1 };
    expect(toJson(value)).toEqual({
      value: { list: [null, 2], kept: 1 },
      notes: ["Functions and symbols were left out."],
    });
    expect(Object.keys(toJson(value).value as object)).toEqual(["list", "kept"]);
  });

  it("omits undefined from objects and makes it null in arrays, like JSON", () => {
    const { value, notes } = toJson({ a: undefined, b: [undefined, 1] });
    expect(Object.keys(value as object)).toEqual(["b"]);
    expect(value).toEqual({ b: [null, 1] });
    expect(notes).toEqual([]);
  });

  it("makes undefined null", () => {
    expect(toJson(undefined)).toEqual({ value: null, notes: [] });
  });

  it("fills the holes of a sparse array with null", () => {
    const sparse: unknown[] = [];
    sparse[3] = "d";
    expect(toJson(sparse).value).toEqual([null, null, null, "d"]);
  });

  it("uses the result of toJSON, and converts it too", () => {
    expect(toJson(new URL("https://a.example/b")).value).toBe("https://a.example/b");
    expect(toJson({ a: { toJSON: () => ({ n: [1n] }), hidden: 1 } }).value).toEqual({
      a: { n: ["1"] },
    });
  });

  it("omits a property whose toJSON returns undefined", () => {
    const { value } = toJson({ a: { toJSON: () => undefined }, b: 1 });
    expect(Object.keys(value as object)).toEqual(["b"]);
  });

  it("treats a toJSON that is not a function as a property", () => {
    expect(toJson({ toJSON: "text" }).value).toEqual({ toJSON: "text" });
  });
});

describe("a refused value", () => {
  const cyclic: { inner: { up?: unknown } } = { inner: {} };
  cyclic.inner.up = cyclic;
  const cyclicArray: unknown[] = [];
  cyclicArray.push([cyclicArray]);
  const cyclicMap = new Map<string, unknown>();
  cyclicMap.set("self", new Set([cyclicMap]));

  it.each<[string, unknown]>([
    ["an object that contains itself", cyclic],
    ["an array that contains itself", cyclicArray],
    ["a Map and a Set that contain each other", cyclicMap],
  ])("is %s, with a message that says so", (_name, value) => {
    expect(refusalOf(value)).toMatchObject({
      code: "bad_value",
      message: expect.stringContaining("contains itself"),
    });
  });

  it.each<[string, unknown]>([
    ["a Uint8Array", new Uint8Array([1])],
    ["a DataView", new DataView(new ArrayBuffer(1))],
    ["an ArrayBuffer", new ArrayBuffer(1)],
  ])("is bytes in %s, alone and nested", (_name, value) => {
    const refusal = { code: "bad_value", message: expect.stringContaining("Bytes") };
    expect(refusalOf(value)).toMatchObject(refusal);
    expect(refusalOf({ a: [value] })).toMatchObject(refusal);
  });

  it("is a function or a symbol alone", () => {
    expect(refusalOf(() => 1)).toMatchObject({
      code: "bad_value",
      message: expect.stringContaining("function"),
    });
    expect(codeOfRefusal(Symbol("s"))).toBe("bad_value");
    expect(codeOfRefusal({ toJSON: () => undefined })).toBe("bad_value");
  });

  it("is an accessor that throws, and its error is reported", () => {
    const value = {
      inner: {
        get secret(): string {
          throw new RangeError("not today");
        },
      },
    };
    expect(refusalOf(value)).toMatchObject({
      code: "bad_value",
      message: expect.stringContaining("not today"),
    });
  });

  it("is a toJSON that throws, whatever it throws", () => {
    for (const thrown of [new Error("boom"), "boom", null, undefined, 5, {}]) {
      const value = {
        toJSON() {
          throw thrown;
        },
      };
      expect(codeOfRefusal([value])).toBe("bad_value");
    }
  });

  it("is an object that only looks like a date or a Map", () => {
    expect(codeOfRefusal(Object.create(Date.prototype))).toBe("bad_value");
    expect(codeOfRefusal(Object.create(Map.prototype))).toBe("bad_value");
  });
});

describe("hostile proxies", () => {
  function failing(trap: keyof ProxyHandler<object>): object {
    const fail = () => {
      throw new Error(`${trap} is closed`);
    };
    return new Proxy({ a: 1 }, { [trap]: fail });
  }

  it.each(["ownKeys", "get", "has", "getOwnPropertyDescriptor", "getPrototypeOf"] as const)(
    "are refused if %s throws",
    (trap) => {
      for (const value of [failing(trap), { inner: [failing(trap)] }]) {
        expect(refusalOf(value)).toMatchObject({
          code: "bad_value",
          message: expect.stringContaining(`${trap} is closed`),
        });
      }
    },
  );

  it("are refused if they are revoked", () => {
    for (const target of [{}, []]) {
      const { proxy, revoke } = Proxy.revocable(target, {});
      revoke();
      expect(codeOfRefusal(proxy)).toBe("bad_value");
    }
  });

  it("hit a limit if they never end", () => {
    const deeper = (): object =>
      new Proxy({ a: 1 }, { get: (_, key) => (key === "a" ? deeper() : undefined) });
    expect(refusalOf(deeper())).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "maxDepth" },
    });
  });

  it("hit a limit if they keep returning toJSON", () => {
    const again = (): object => ({ toJSON: again });
    expect(codeOfRefusal(again())).toBe("limit_exceeded");
  });
});

describe("bounds", () => {
  it.each<[string, (inner: unknown) => unknown]>([
    ["arrays", (inner) => [inner]],
    ["objects", (inner) => ({ inner })],
    ["Maps", (inner) => new Map([["inner", inner]])],
    ["Sets", (inner) => new Set([inner])],
  ])("200 nested %s are accepted, 201 are refused", (_name, wrap) => {
    for (const levels of [limits.maxDepth - 1, limits.maxDepth]) {
      expect(JSON.stringify(toJson(nested(levels, wrap)).value)).toContain("null");
    }
    expect(refusalOf(nested(limits.maxDepth + 1, wrap))).toMatchObject({
      code: "limit_exceeded",
      details: { limit: "maxDepth", maximum: limits.maxDepth, actual: limits.maxDepth + 1 },
    });
  });

  it("100,000 levels hit the limit, not the stack", () => {
    expect(codeOfRefusal(nested(100_000, (inner) => [inner]))).toBe("limit_exceeded");
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

  it("many small parts are added up, including keys", () => {
    const text = "x".repeat(1_048_576);
    expect(toJson(Array.from({ length: 15 }, () => text)).value).toHaveLength(15);
    expect(codeOfRefusal(Array.from({ length: 16 }, () => text))).toBe("limit_exceeded");
    expect(codeOfRefusal(Array.from({ length: 16 }, () => ({ [text]: 1 })))).toBe("limit_exceeded");
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
