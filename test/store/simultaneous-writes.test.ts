import { describe, expect, it } from "vitest";
import { stores } from "../support/runtime-tool-context.ts";

describe.each(stores)("$title", ({ open }) => {
  it("keeps each of 200 concurrent appends to a value", async () => {
    const store = open();
    await store.save({ name: "v", value: [] });
    const numbers = Array.from({ length: 200 }, (_, number) => number);
    const infos = await Promise.all(
      numbers.map((value) => store.save({ name: "v", value, mode: "append" })),
    );
    expect(new Set(infos.map(({ version }) => version)).size).toBe(200);
    const value = (await store.read("v")) as readonly number[];
    expect(value.toSorted((one, other) => one - other)).toEqual(numbers);
  });
});
