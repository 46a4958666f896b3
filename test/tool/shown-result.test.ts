import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Write } from "../../src/store/variable-store.ts";
import { keptWrite } from "../../src/tool/tool-output.ts";
import type { Json } from "../../src/value/json.ts";

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
});
