import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Write } from "../../src/store/variable-store.ts";
import { isShort, keptWrite, shortOutput, shownResult } from "../../src/tool/shown-result.ts";
import type { Json } from "../../src/value/json.ts";

/** A text that has exactly this many characters as JSON. */
const textOf = (chars: number) => "x".repeat(chars - 2);
const longest = textOf(limits.maxShownResultChars);
const tooLong = textOf(limits.maxShownResultChars + 1);
const rows = Array.from({ length: 400 }, (_, id) => ({ id }));

async function infoOf(write: Write) {
  const store = new MemoryStore();
  const info = await store.save({ name: "result", ...write });
  return info;
}

it("a value is short up to the limit, as JSON", () => {
  expect([
    isShort(longest),
    isShort(tooLong),
    isShort('"'.repeat(limits.maxShownResultChars / 2)),
  ]).toEqual([true, false, false]);
});

describe("the result of a plan's call", () => {
  it("is shown if it is short", async () => {
    for (const value of [longest, null, false, { a: [1] }] as const)
      expect(shownResult(await infoOf({ value }), value)).toEqual(value);
  });

  it("is a handle without paths to try if it is long, or not in memory", async () => {
    const shown = {
      $var: "result",
      type: "array",
      count: 400,
      bytes: JSON.stringify(rows).length,
      shape: "{id: number}[]",
      preview: expect.stringContaining('"id":0'),
    };
    const info = await infoOf({ value: rows });
    expect(shownResult(info, rows)).toEqual(shown);
    expect(shownResult(info, undefined)).toMatchObject({
      $var: "result",
      type: "array",
      count: 400,
    });
  });

  it.each(["sealed", "secret"] as const)("is only named if it is %s", async (visibility) => {
    const info = await infoOf({ value: "short", visibility });
    expect(shownResult(info, "short")).toEqual({ $var: "result", visibility });
  });
});

describe("an output that is not a variable", () => {
  it("is shown if it is short, else described", () => {
    expect(shortOutput(longest)).toBe(longest);
    expect(shortOutput(rows)).toEqual({
      type: "array",
      count: 400,
      shape: "{id: number}[]",
      preview: expect.stringContaining('"id":0'),
    });
  });
});

describe("the write that keeps a plan's result", () => {
  const keepAs = { base: "kept", numbered: true, inputDigest: "d" };
  const call = { keepAs };
  const keep = (
    value: Json | undefined,
    write: Partial<Write> = {},
    places: readonly string[] = [],
  ) => {
    const store = new MemoryStore();
    const named = places.map((name) => ({ name }));
    return keptWrite({ value: value ?? "", ...write }, { call, places: named, value }, store);
  };

  it("exists for a long value, and for one that is not in memory", () => {
    expect(keep(longest)).toBeUndefined();
    const kept = { name: keepAs, visibility: "model", pinned: true };
    expect(keep(tooLong)).toEqual({ value: tooLong, ...kept });
    expect(keep(undefined)).toEqual({ value: "", ...kept });
  });

  it("is of the model's visibility if nothing says otherwise", () => {
    expect(keep(tooLong, {}, ["new"])).toMatchObject({ visibility: "model" });
  });

  it("exists for each guarded value", () => {
    expect(keep("short", { visibility: "sealed" })).toMatchObject({ visibility: "sealed" });
  });

  it("is as guarded as the places of the result, and new ones are not", async () => {
    const store = new MemoryStore();
    await store.save({ name: "hidden", value: 1, visibility: "secret" });
    const keepAt = (...names: readonly string[]) =>
      keptWrite({ value: 1 }, { call, places: names.map((name) => ({ name })), value: 1 }, store);
    expect(keepAt("new")).toBeUndefined();
    expect(keepAt("new", "hidden")).toMatchObject({ visibility: "secret", pinned: true });
  });

  it("has its own name, and no run, path or mode", () => {
    const kept = keep(tooLong, {
      name: "a",
      run: "r",
      path: [{ key: "b" }],
      mode: "append",
      tool: "t",
    });
    expect(kept).toEqual({
      value: tooLong,
      tool: "t",
      name: keepAs,
      visibility: "model",
      pinned: true,
    });
  });

  it("does not exist for a call that keeps nothing", () => {
    const store = new MemoryStore();
    expect(
      keptWrite({ value: tooLong }, { call: {}, places: [], value: tooLong }, store),
    ).toBeUndefined();
  });
});
