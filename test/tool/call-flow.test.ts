import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { mayWrite } from "../../src/turn/tool-calls.ts";
import type { Written } from "../../src/tool/wrapped-tool.ts";
import { wrapRuntimeTools, wrapTool } from "../../src/tool/tool-call.ts";
import { variableTools } from "../../src/tool/variables/variable-tools.ts";
import type { WrapOptions } from "../../src/tool/wrapped-tool.ts";
import type { Path } from "../../src/value/path.ts";
import type { Json } from "../../src/value/json.ts";
import { storeWith } from "../support/wrapped.ts";

const find = tool({ inputSchema: z.looseObject({}), execute: () => 1 });

async function flowOf(input: Json, options: Partial<WrapOptions> = {}) {
  const wrapped = await wrapTool("find", find, { store: new MemoryStore(), ...options });
  return wrapped.flow(input, {});
}

describe("the variables that a call reads", () => {
  it("are all needed, unless they are alternatives", async () => {
    const syntaxes = ["dollar", "dagger"] as const;
    const neededIn = async (text: string) =>
      (await flowOf({ text }, { syntaxes })).reads.map(({ name, isNeeded }) => [name, isNeeded]);
    expect(await neededIn("†a || †b")).toEqual([
      ["a", false],
      ["b", false],
    ]);
    expect(await neededIn("†a && †b")).toEqual([
      ["a", true],
      ["b", true],
    ]);
    expect(await neededIn("†a")).toEqual([["a", true]]);
    expect(await neededIn("†a || $b")).toContainEqual(["b", true]);
  });
});

describe("the variables that a call writes", () => {
  const choosing: Partial<WrapOptions> = { outputPath: true };

  it("are the fixed place of the tool", async () => {
    expect((await flowOf({ q: "x" }, { outputPath: { find: "$kept" } })).writes).toEqual([
      { name: "kept", path: [] },
    ]);
  });

  it("are in the input only where the model may choose them", async () => {
    const input = { q: "x", _outputPath: "$a" };
    expect((await flowOf(input)).writes).toEqual([{ base: "find_x" }, { prefix: "find" }]);
    expect((await flowOf(input, { outputPath: { find: "$kept" } })).writes).toEqual([
      { name: "kept", path: [] },
    ]);
  });

  it("are none for a place that cannot be used", async () => {
    expect((await flowOf({ _outputPath: "no place" }, choosing)).writes).toEqual([]);
    const { reads, writes } = await flowOf({ q: "$x", _outputPath: 5 }, choosing);
    expect(reads.map(({ name }) => name)).toEqual(["x"]);
    expect(writes).toContainEqual({ prefix: "find" });
  });
});

describe("the variables that a call of a built-in tool names", () => {
  const flowOfBuiltIn = async (name: string, input: Json) => {
    const wrapped = await wrapRuntimeTools(variableTools(), { store: new MemoryStore() });
    return wrapped.get(name)?.flow(input, {});
  };

  it("are none for a text that names nothing", async () => {
    const none = { reads: [], writes: [] };
    expect(await flowOfBuiltIn("read_variable", { name: "no name" })).toEqual(none);
    expect(await flowOfBuiltIn("delete_variable", { name: "no name" })).toEqual(none);
    expect(await flowOfBuiltIn("read_variable", "text")).toEqual(none);
  });
});

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
