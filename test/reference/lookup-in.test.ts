import { describe, expect, it } from "vitest";
import { ByrefError } from "../../src/errors.ts";
import * as limits from "../../src/limits.ts";
import { LookupWork } from "../../src/reference/lookup.ts";
import { lookupIn } from "../../src/reference/lookup-in.ts";
import type { Path } from "../../src/value/path.ts";

const look = (name: string, ...path: Path) =>
  lookupIn({ temp: 72, nothing: null, list: ["a"], weather: { city: "NY", wind: { speed: 3 } } })({
    name,
    path,
  });

describe("a lookup in an object", () => {
  it("finds its own properties and the values at their paths", () => {
    expect(look("temp")).toEqual({ found: true, value: 72 });
    expect(look("nothing")).toEqual({ found: true, value: null });
    expect(look("weather", { key: "wind" }, { key: "speed" })).toEqual({ found: true, value: 3 });
  });

  it("knows no other name, but suggests similar ones", () => {
    expect(look("tmp")).toEqual({ found: false, reason: "unknown", near: ["temp"] });
    expect(look("toString")).toEqual({ found: false, reason: "unknown", near: [] });
    // There are no near keys for an index.
    expect(look("weather", { index: 0 })).not.toHaveProperty("near");
  });

  it("finds nothing in a value that is not an object", () => {
    // Not an object, as untyped callers may pass it.
    const lookup = lookupIn("text" as unknown as Record<string, never>);
    expect(lookup({ name: "length", path: [] })).toMatchObject({ reason: "unknown" });
  });
});

describe("a value that cannot be read", () => {
  const lookFailing = (error: Error) => {
    const work = new LookupWork();
    work.spend = () => {
      throw error;
    };
    return lookupIn({ n: [{ a: 1 }] })({ name: "n", path: [{ each: true }, { key: "a" }] }, work);
  };

  it.each(["limit_exceeded", "bad_value"] as const)("is a miss with the code %s", (code) => {
    const error = new ByrefError(code, "Too much.");
    expect(lookFailing(error)).toEqual({
      found: false,
      reason: "unreadable",
      code,
      message: "Too much.",
    });
  });

  it("fails for other reasons", () => {
    expect(() => lookFailing(new ByrefError("internal", "Broken."))).toThrow("Broken.");
    expect(() => lookFailing(new TypeError("Broken."))).toThrow("Broken.");
  });
});

it("the work of the references of an input is bounded by the characters that they insert", () => {
  const maximum = limits.maxStepInputChars;
  const work = new LookupWork();
  work.countInserted(maximum - 1);
  work.countInserted(1);
  expect(() => work.countInserted(1)).toThrow(
    expect.objectContaining({
      code: "limit_exceeded",
      message: expect.stringMatching(/maxStepInputChars.*Call fewer tools with large values/u),
    }),
  );
});
