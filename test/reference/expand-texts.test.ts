import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { TextsExpander } from "../../src/reference/expand-texts.ts";
import type { Found, Lookup } from "../../src/reference/lookup.ts";

const found = (value: string): Found => ({ found: true, value });

function expanding(lookup: Lookup) {
  const deltas: string[] = [];
  const texts = new TextsExpander(lookup, { emit: (_id, delta) => deltas.push(delta) });
  void texts.pass({ type: "text-start", id: "t" }, () => undefined);
  return { texts, deltas };
}

describe("the deltas of an expanded text", () => {
  it("are as many as those of the model, however many references are in one", async () => {
    const { texts, deltas } = expanding(() => found("word"));
    await texts.write("t", "a $one, $two and $three b");
    expect(deltas).toEqual(["a word, word and word b"]);
  });

  it("do not keep text back while a value is loaded", async () => {
    const loaded = Promise.withResolvers<Found>();
    const { texts, deltas } = expanding(() => loaded.promise);
    const written = texts.write("t", "before $slow after $slow ");
    expect(deltas).toEqual(["before "]);
    loaded.resolve(found("word"));
    await written;
    expect(deltas).toEqual(["before ", "word after word "]);
  });

  it("hold no more than a slice of values together", async () => {
    const value = "x".repeat(limits.maxSliceChars);
    const { texts, deltas } = expanding(() => found(value));
    await texts.write("t", "$one $two ");
    expect(deltas.join("")).toBe(`${value} ${value} `);
    expect(Math.max(...deltas.map(({ length }) => length))).toBe(limits.maxSliceChars);
  });

  it("contain what came before a lookup that failed", async () => {
    const { texts, deltas } = expanding(({ name }) => {
      if (name === "bad") throw new Error("The store is closed.");
      return found("word");
    });
    expect(() => texts.write("t", "$good then $bad ")).toThrow("The store is closed.");
    expect(deltas.join("")).toBe("word then ");
  });
});
