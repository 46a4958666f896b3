import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { misfitHint } from "../../src/tool/tool-input.ts";
import type { Json } from "../../src/value/json.ts";

const orders = [{ id: "a", total: 1 }];

async function storeWithOrders(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.save({ name: "orders", value: orders });
  return store;
}

describe("references whose values do not fit", () => {
  const hintFor = async (written: Json, value: Json) =>
    misfitHint({ written, value, unresolved: [] }, { store: await storeWithOrders() });

  it("are described by their shapes, whole or in part", async () => {
    expect(await hintFor({ ids: "$orders" }, { ids: orders })).toBe(
      " $orders is {id: string, total: number}[].",
    );
    expect(await hintFor({ ids: "$orders[0]" }, { ids: orders[0] as Json })).toBe(
      " $orders[0] is {id: string, total: number}.",
    );
  });

  it("are at most three", async () => {
    const keys = ["a", "b", "c", "d"];
    const hint = await hintFor(
      Object.fromEntries(keys.map((key) => [key, "$orders[0].id"])),
      Object.fromEntries(keys.map((key) => [key, "a"])),
    );
    expect(hint).toBe(" $orders[0].id is string.".repeat(3));
  });

  it.each<[string, Json, Json]>([
    ["a literal text", { ids: "orders" }, { ids: "orders" }],
    ["a reference inside a text", { ids: "Of $orders" }, { ids: "Of [1]" }],
    ["a key that the resolved input lacks", { ids: "$orders" }, {}],
    ["an unknown name", { ids: "$sales" }, { ids: 1 }],
    ["a number", { ids: 5 }, { ids: 6 }],
    ["a reference that stayed text", { ids: "$orders" }, { ids: "$orders" }],
    ["an input that is not an object", "$orders", orders],
    ["an input that became one", "$orders", { id: 1 }],
  ])("are not described for %s", async (_, written, value) => {
    expect(await hintFor(written, value)).toBe("");
  });

  it.each([
    ["sealed", { visibility: "sealed" }],
    ["secret", { visibility: "secret" }],
    ["untrusted", { trusted: false }],
  ] as const)("are not described for a variable that is %s", async (_, guard) => {
    const store = new MemoryStore();
    await store.save({ name: "orders", value: orders, ...guard });
    const misfit = { written: { ids: "$orders" }, value: { ids: orders }, unresolved: [] };
    expect(misfitHint(misfit, { store })).toBe("");
  });

  it("are read in the syntaxes of the agent", async () => {
    const misfit = { written: { ids: "{{orders}}" }, value: { ids: orders }, unresolved: [] };
    const store = await storeWithOrders();
    expect(misfitHint(misfit, { store })).toBe("");
    const shape = " {{orders}} is {id: string, total: number}[].";
    expect(misfitHint(misfit, { store, syntaxes: ["mustache"] })).toBe(shape);
  });
});

describe("unknown names", () => {
  const unknown = (near?: readonly string[]) => ({
    reference: "$sales",
    code: "variable_not_found" as const,
    message: "",
    ...(near === undefined ? {} : { near }),
  });
  const hintOf = async (...unresolved: readonly ReturnType<typeof unknown>[]) =>
    misfitHint(
      { written: { ids: "$sales" }, value: { ids: "$sales" }, unresolved },
      { store: await storeWithOrders() },
    );

  it("are answered with the variables that exist, if they are unlike all of them", async () => {
    expect(await hintOf(unknown())).toContain("$orders");
  });

  it("are not answered if the error names a similar one", async () => {
    expect(await hintOf(unknown(["$orders"]))).toBe("");
    expect(await hintOf(unknown(), unknown(["$orders"]))).toBe("");
  });

  it("are not answered if the path is what is missing", async () => {
    const missing = { reference: "$orders.x", code: "path_not_found" as const, message: "" };
    const misfit = { written: {}, value: {}, unresolved: [missing] };
    expect(misfitHint(misfit, { store: await storeWithOrders() })).toBe("");
  });
});
