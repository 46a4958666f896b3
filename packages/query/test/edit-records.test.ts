import { describe, expect, it } from "vitest";
import { maxQueryRecords } from "../../../src/limits.ts";
import { Labels, Taint } from "../../../src/store/labels.ts";
import type { Json } from "../../../src/value/json.ts";
import { Editor, type Where } from "./editor.ts";

const orders = [
  { id: 1, customer: "ann", total: 10, paid: true },
  { id: 2, customer: "bob", total: 5 },
  { id: 3, customer: "ann", total: 7, paid: false },
];

const withOrders = () => Editor.with({ orders });

describe("an edit of records by a condition", () => {
  it("sets columns in the records for which it is true, and shows what has changed", async () => {
    const editor = await withOrders();
    const edits = [{ where: "customer = 'ann' AND NOT paid", set: { paid: true, note: "late" } }];
    expect(await editor.edit({ edits })).toEqual({
      $var: "orders",
      type: "array",
      count: 3,
      version: 2,
      diff: expect.stringContaining('-    "paid": false\n+    "paid": true,\n+    "note": "late"'),
    });
    expect(await editor.store.read("orders")).toEqual([
      orders[0],
      orders[1],
      { id: 3, customer: "ann", total: 7, paid: true, note: "late" },
    ]);
    await editor.edit({ edits: "undo" });
    expect(await editor.store.read("orders")).toEqual(orders);
  });

  it("sets a column named __proto__", async () => {
    const editor = await withOrders();
    const set: Json = JSON.parse('{"__proto__": {"a": 1}}');
    await editor.edit({ edits: [{ where: "id = 2", set }] });
    expect(JSON.stringify(await editor.store.read("orders"))).toContain(
      '{"id":2,"customer":"bob","total":5,"__proto__":{"a":1}}',
    );
  });

  it("takes references, other variables, functions and the position in conditions", async () => {
    const editor = await withOrders();
    await editor.store.save({ name: "least", value: { total: 7 } });
    await editor.store.save({ name: "vip", value: [{ who: "bob" }], sources: ["mcp:crm"] });
    const edits = [
      { where: "total >= $least.total -- a comment", set: { size: "$least" } },
      { where: `customer IN (SELECT who FROM vip) OR "index" = 0`, set: { customer: "x" } },
    ];
    await editor.edit({ edits, saveAs: "edited" });
    expect(await editor.store.read("edited")).toEqual([
      { ...orders[0], size: { total: 7 }, customer: "x" },
      { ...orders[1], customer: "x" },
      { ...orders[2], size: { total: 7 } },
    ]);
    expect(await editor.store.read("orders")).toEqual(orders);
    expect(editor.store.info("edited")?.sources).toContain("mcp:crm");
    expect(editor.queries.map(({ variables }) => variables)).toEqual([
      ["orders"],
      ["orders", "vip"],
    ]);
  });

  it("reads no references in a condition from code", async () => {
    const editor = await withOrders();
    const edits = [{ where: "customer = '$orders' OR id = $orders[0].id", set: { a: 1 } }];
    const madeOf = new Labels(editor.store);
    expect(await editor.refusal({ edits }, { call: { madeOf } })).toContain("bad_query");
  });

  it.each<[string, Readonly<Record<string, Json>>]>([
    ["bad_query", { edits: [{ where: "totl > 5", set: { a: 1 } }] }],
    ["bad_query", { edits: [{ where: "", set: { a: 1 } }] }],
    ["bad_query", { edits: [{ where: "1) UNION SELECT 'x' WHERE (1", set: { a: 1 } }] }],
    ["bad_query", { edits: [{ where: "1) UNION SELECT -1 WHERE (1", set: { a: 1 } }] }],
    ["query_not_allowed", { edits: [{ where: "1); DELETE FROM orders; --", set: { a: 1 } }] }],
    ["edit_not_found", { edits: [{ where: "total > 50", set: { a: 1 } }] }],
    ["invalid_tool_input", { edits: [{ where: "total > 5" }] }],
    [
      "invalid_tool_input",
      {
        edits: [
          { where: "1", set: { a: 1 } },
          { find: "a", replace: "" },
        ],
      },
    ],
    ["invalid_tool_input", { edits: [{ where: "1", set: ["a"] }] }],
    ["bad_value", { name: "list", edits: [{ where: "value = 1", set: { a: 1 } }] }],
    ["bad_value", { name: "page", edits: [{ where: "1", set: { a: 1 } }] }],
    ["bad_value", { name: "doc", edits: [{ where: "1", set: { a: 1 } }] }],
    ["variable_sealed", { name: "sealed", edits: [{ where: "1", set: { a: 1 } }] }],
    ["variable_sealed", { edits: [{ where: "1 IN (SELECT a FROM sealed)", set: { a: 1 } }] }],
    ["variable_sealed", { edits: [{ where: "id = $sealed[0].a", set: { a: 1 } }] }],
    ["variable_sealed", { edits: [{ where: "1", set: { a: "$sealed" } }] }],
    ["variable_secret", { edits: [{ where: "1", set: { a: "$key" } }], saveAs: "other" }],
    ["limit_exceeded", { edits: [{ where: "1", set: { a: "$long" } }] }],
    ["limit_exceeded", { name: "many", edits: [{ where: "1", set: { b: 1 } }] }],
  ])("%s for %j, and changes nothing", async (code, input) => {
    const editor = await withOrders();
    const { store } = editor;
    await store.save({ name: "list", value: [1, 2] });
    await store.save({ name: "doc", value: { a: 1 } });
    await store.save({ name: "page", value: "text" });
    await store.save({ name: "long", value: "x".repeat(6_000_000) });
    await store.save({ name: "sealed", value: [{ a: 1 }], visibility: "sealed" });
    await store.save({ name: "key", value: "k", visibility: "secret" });
    const many = Array.from({ length: maxQueryRecords + 1 }, (_, a) => ({ a }));
    if (input["name"] === "many") await store.save({ name: "many", value: many });
    expect(await editor.refusal(input)).toMatch(new RegExp(`^${code}`));
    for (const { name, version } of store.list()) expect([name, version]).toEqual([name, 1]);
  });

  it("is all or nothing", async () => {
    const editor = await withOrders();
    const edits = [
      { where: "id = 1", set: { total: 0 } },
      { where: "id = 9", set: { total: 0 } },
    ];
    expect(await editor.refusal({ edits })).toBe(
      "edit_not_found: No record of $orders has id = 9. Read it with read_variable.",
    );
    expect(await editor.store.read("orders")).toEqual(orders);
  });

  it("puts guarded values in with one edit only, so that no condition searches them", async () => {
    const editor = await withOrders();
    await editor.store.save({ name: "sealed", value: ["ann"], visibility: "sealed" });
    const put = { where: "id < 3", set: { customer: "$sealed[0]" } };
    const found = { where: "customer = 'ann'", set: { found: true } };
    expect(await editor.refusal({ edits: [put, found], saveAs: "out" })).toMatch(
      /^variable_sealed/,
    );
    expect(await editor.edit({ edits: [put], saveAs: "out" })).toEqual({
      $var: "out",
      visibility: "sealed",
    });
  });

  it("is untrusted if a condition or a value is, and shows nothing if that is hidden", async () => {
    const changes: readonly Where[] = [
      { where: "id IN (SELECT id FROM mail)", set: { a: 1 } },
      { where: "id = 1", set: { a: "$mail[0].text" } },
    ];
    for (const change of changes) {
      for (const untrusted of ["show", "hide"] as const) {
        const editor = await withOrders();
        const value = [{ id: 1, text: "Obey." }];
        await editor.store.save({ name: "mail", value, trusted: false });
        const taint = new Taint();
        const output = await editor.edit({ edits: [change] }, { untrusted, taint });
        expect(Object.keys(output).includes("diff")).toBe(untrusted === "show");
        expect(taint.isTainted).toBe(untrusted === "show");
        expect(editor.store.info("orders")?.trusted).toBe(false);
      }
    }
  });

  it("reports the variables that it reads before it runs", async () => {
    const { edit } = await (await withOrders()).tools();
    const where = "id IN (SELECT id FROM vip) AND total > $least";
    const flow = edit.flow({ name: "orders", edits: [{ where, set: { a: "$note" } }] });
    const read = new Set(flow.reads.map(({ name }) => name));
    expect(read).toEqual(new Set(["vip", "least", "note"]));
    expect(flow.writes).toEqual([{ name: "orders", path: [] }]);
  });
});
