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
});
