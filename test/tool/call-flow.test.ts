import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { mayWrite, type Written } from "../../src/tool/call-flow.ts";
import { textsIn } from "../../src/tool/flow-of-call.ts";
import { variableTools } from "../../src/tool/variables/variable-tools.ts";
import { wrapRuntimeTools } from "../../src/tool/wrap-runtime-tool.ts";
import { wrapTool } from "../../src/tool/wrap-tool.ts";
import type { WrapOptions } from "../../src/tool/wrapped-tool.ts";
import type { Path } from "../../src/value/path.ts";
import type { Json } from "../../src/value/json.ts";
import { storeWith } from "../support/wrapped.ts";

const find = tool({ inputSchema: z.looseObject({}), execute: () => 1 });
const inRun = { run: "r1", nameOf: (name: string) => `${name}_r1` };

async function flowOf(input: Json, options: Partial<WrapOptions> = {}) {
  const wrapped = await wrapTool("find", find, { store: new MemoryStore(), ...options });
  return wrapped.flow(input, {});
}

describe("the variables that a call reads", () => {
  it("are those of all references, with their paths and sources", async () => {
    const { reads } = await flowOf({ a: "$x.y", b: ["of $z[0]: $x"] });
    expect(reads).toEqual([
      { name: "x", path: [{ key: "y" }], source: "$x.y", isNeeded: true },
      { name: "z", path: [{ index: 0 }], source: "$z[0]", isNeeded: true },
      { name: "x", path: [], source: "$x", isNeeded: true },
    ]);
  });

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

  it("have the names of the run, if there is one", async () => {
    const store = await storeWith({ x: 1 });
    await store.save({ name: "x_r1", value: 2, run: "r1" });
    const wrapped = await wrapTool("find", find, { store });
    const namesIn = (scope?: typeof inRun) =>
      wrapped.flow({ a: "$x" }, scope === undefined ? {} : { scope }).reads.map(({ name }) => name);
    expect([namesIn(), namesIn(inRun)]).toEqual([["x"], ["x_r1"]]);
  });
});

describe("the variables that a call writes", () => {
  const choosing: Partial<WrapOptions> = { outputPath: true };

  it("are those of an automatic name", async () => {
    expect((await flowOf({ q: "new york" })).writes).toEqual([{ base: "find_new_york" }]);
  });

  it("may begin with the tool's name alone, if the input has references", async () => {
    const { writes } = await flowOf({ q: "$x" });
    expect(writes).toEqual([{ base: expect.stringMatching(/^find/u) }, { prefix: "find" }]);
  });

  it("are unknown if the application chooses names", async () => {
    expect((await flowOf({ q: "x" }, { naming: () => "chosen" })).writes).toEqual([]);
  });

  it("are the places that the model chooses, without an automatic name", async () => {
    const { writes } = await flowOf({ q: "$x", _outputPath: "$a.b && $c" }, choosing);
    expect(writes).toEqual([
      { name: "a", path: [{ key: "b" }] },
      { name: "c", path: [] },
    ]);
  });

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

  it("are read or written, as places", async () => {
    expect(await flowOfBuiltIn("read_variable", { name: "†a.b" })).toEqual({
      reads: [{ name: "a", path: [{ key: "b" }], source: "$a", isNeeded: true }],
      writes: [],
    });
    expect(await flowOfBuiltIn("set_variable", { name: "a.b", value: "$c" })).toEqual({
      reads: [{ name: "c", path: [], source: "$c", isNeeded: true }],
      writes: [{ name: "a", path: [{ key: "b" }] }],
    });
  });

  it("are none for a text that names nothing", async () => {
    const none = { reads: [], writes: [] };
    expect(await flowOfBuiltIn("read_variable", { name: "no name" })).toEqual(none);
    expect(await flowOfBuiltIn("delete_variable", { name: "no name" })).toEqual(none);
    expect(await flowOfBuiltIn("read_variable", "text")).toEqual(none);
  });

  it("are in texts and lists of texts", () => {
    expect(textsIn({ a: "x", b: ["y", 5, "z"], c: "no" }, ["a", "b", "d"])).toEqual([
      "x",
      "y",
      "z",
    ]);
    expect(textsIn({ a: 5 }, ["a"])).toEqual([]);
    expect(textsIn({}, ["toString"])).toEqual([]);
    for (const other of ["text", null, ["a"]]) expect(textsIn(other, ["a", "0"])).toEqual([]);
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
