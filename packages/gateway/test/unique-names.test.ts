import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { uniqueNames } from "../src/unique-names.ts";

const of = (server: string, name: string) => ({ server, name });

describe("names of the gateway's tools", () => {
  it("are shortened with a digest if they are long, so that two of them differ", () => {
    const [one = "", two = ""] = uniqueNames([
      of("a", `${"n".repeat(200)}1`),
      of("a", `${"n".repeat(200)}2`),
    ]);
    expect(one).toHaveLength(128);
    expect(two.length).toBeLessThanOrEqual(128);
    expect(one).not.toBe(two);
  });

  it("are whole up to 128 characters, and end in a digest that stays the same above", () => {
    const [fits, long] = ["n".repeat(128), "n".repeat(129)];
    expect(uniqueNames([of("a", fits), of("a", long)])).toEqual([
      fits,
      `${"n".repeat(120)}_1g1dx69`,
    ]);
  });

  it("are always unique, and the first of each name keeps its own", () => {
    const name = fc.constantFrom("x", "x_2", "a__x", "b__x", "a__x_2", "y".repeat(130));
    const named = fc.record({ server: fc.constantFrom("a", "b"), name });
    fc.assert(
      fc.property(fc.array(named, { maxLength: 30 }), (all) => {
        const names = uniqueNames(all);
        expect(new Set(names).size).toBe(all.length);
        expect(names.every((one) => one.length <= 128)).toBe(true);
        if (all[0] !== undefined && all[0].name.length <= 128) expect(names[0]).toBe(all[0].name);
      }),
    );
  });
});
