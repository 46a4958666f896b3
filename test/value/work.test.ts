import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { parsePath } from "../../src/reference/grammar.ts";
import type { Json } from "../../src/value/json.ts";
import { readPath } from "../../src/value/path.ts";
import { Work } from "../../src/value/work.ts";

const read = (value: Json, written: string, work?: Work) =>
  readPath(value, parsePath(written) ?? [], work);

describe("the work of reading", () => {
  it("is refused above its limit, and from then on", () => {
    const work = new Work();
    work.spend(limits.maxReadWork);
    expect(() => work.spend(1)).toThrow(/maxReadWork is at most 134217728, this is 134217729\./);
    expect(() => work.spend(0)).toThrow(/maxReadWork/);
  });
});

describe("the keys that a miss lists", () => {
  const counted = () => {
    let listed = 0;
    const object = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key_${n}`, n]));
    const value = new Proxy<Record<string, Json>>(object, {
      ownKeys(target) {
        listed++;
        return Reflect.ownKeys(target);
      },
    });
    return { value, listed: () => listed };
  };

  it("are the first thousand, and listed once", () => {
    const { value, listed } = counted();
    const work = new Work();
    for (const path of [".a", ".b", ".c"]) {
      const reading = read(value, path, work);
      expect(reading).toMatchObject({ found: false, nearest: [] });
      expect(reading.found ? [] : reading.keys).toHaveLength(limits.maxItems);
    }
    expect(listed()).toBe(1);
  });

  it("are not listed after too much work", () => {
    const { value, listed } = counted();
    const work = new Work();
    work.spend(limits.maxReadWork);
    expect(() => read(value, ".a", work)).toThrow(/maxReadWork/);
    expect(listed()).toBe(0);
  });
});
