import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { mayWrite } from "../../src/turn/tool-calls.ts";
import type { Written } from "../../src/tool/wrapped-tool.ts";
import type { Path } from "../../src/value/path.ts";
import { storeWith } from "../support/wrapped.ts";

describe("mayWrite", () => {
  const key = (name: string) => ({ key: name });
  const may = (
    written: Written,
    name: string,
    { path = [] as Path, store = new MemoryStore() } = {},
  ) => mayWrite(written, { name, path }, store);

  it("is true for places that overlap", () => {
    const written = { name: "a", path: [key("b"), key("c")] };
    const isOver = (...path: Path) => may(written, "a", { path });
    expect(isOver()).toBe(true);
    expect(isOver(key("b"))).toBe(true);
    expect(isOver(key("b"), key("c"), key("d"))).toBe(true);
    expect(isOver(key("c"))).toBe(false);
    expect(isOver(key("b"), key("d"))).toBe(false);
    expect(may(written, "b")).toBe(false);
  });

  it("is true for an index, which may be any element", () => {
    const first = { name: "a", path: [{ index: 0 }, key("b")] };
    expect(may(first, "a", { path: [{ index: 5 }, key("b")] })).toBe(true);
    expect(may(first, "a", { path: [key("x"), key("b")] })).toBe(true);
    expect(may(first, "a", { path: [{ index: 5 }, key("c")] })).toBe(false);
    expect(may({ name: "a", path: [key("b")] }, "a", { path: [{ index: 0 }] })).toBe(true);
  });

  it("is true for an automatic name, numbered only as long as that variable does not exist", async () => {
    expect(may({ base: "find_x" }, "find_x")).toBe(true);
    expect(may({ base: "find_x" }, "find_x_2")).toBe(true);
    expect(may({ base: "find_x" }, "find_y_2")).toBe(false);
    expect(may({ base: "find_x" }, "find_x_y")).toBe(false);
    const store = await storeWith({ find_x: 1, find_x_2: 1 });
    expect(may({ base: "find_x" }, "find_x", { store })).toBe(true);
    expect(may({ base: "find_x" }, "find_x_2", { store })).toBe(false);
  });

  it("is true for the start of a name, as long as the variable does not exist", async () => {
    const written = { prefix: "find" };
    expect(may(written, "find")).toBe(true);
    expect(may(written, "find_anything")).toBe(true);
    expect(may(written, "finder_x")).toBe(false);
    const store = await storeWith({ find_old: 1 });
    expect(may(written, "find_old", { store })).toBe(false);
  });
});
