import { describe, expect, it } from "vitest";
import { Labels, Taint } from "../../../src/store/labels.ts";
import { Editor } from "./editor.ts";

const orders = [
  { id: 1, customer: "ann", total: 10 },
  { id: 2, customer: "bob", total: 5 },
  { id: 3, customer: "ann", total: 7 },
];

describe("query_variables", () => {
  it.each([
    ["SELECT sum(UserUpn) AS n FROM logs", 1, "UserUpn"],
    ["SELECT sum(userupn_2) AS n FROM logs", 2, ""],
    ["SELECT count(id) AS n FROM logs", 3, ""],
    // SQLite names a column `true` column4. Other letters than those of ASCII have two cases.
    ["SELECT true_2 AS n FROM logs LIMIT 1", 5, ""],
    ["SELECT sum(true_2 + 1) AS n FROM logs WHERE true", 6, "true"],
    ['SELECT "É" AS n FROM logs LIMIT 1', 8, ""],
  ])("says that a key is another column, if SQL takes its name for another: %s", async (...row) => {
    const [sql, n, key] = row;
    const logs = [
      { id: 1, true: 5, é: 7, É: 8 },
      { id: 2, UserUPN: 1 },
      { id: 3, UserUpn: 2 },
    ];
    const { output } = await (await Editor.with({ logs })).saved(sql);
    expect(output).toMatchObject({ value: [{ n }] });
    const note = JSON.stringify(output).match(/ has the values of the key `(.*?)`/u);
    expect(note?.[1] ?? "").toBe(key);
  });

  it("saves the records, and shows them like any result", async () => {
    const conversation = await Editor.with({ orders });
    const sql = "SELECT customer, sum(total) AS total FROM orders GROUP BY customer";
    const { output, info } = await conversation.saved(sql);
    const value = [
      { customer: "ann", total: 17 },
      { customer: "bob", total: 5 },
    ];
    expect(output).toEqual({ $var: "orders_query_1", value });
    expect(info).toMatchObject({ tool: "query_variables", input: { sql }, type: "array" });
    expect(await conversation.store.read("orders_query_1")).toEqual(value);
    expect((await conversation.saved(sql)).info).toMatchObject({
      name: "orders_query_1",
      version: 2,
    });
    expect((await conversation.saved("SELECT 1 AS n")).info?.name).toBe("query_1");
  });

  it("keeps the previous version of a variable that it replaces by name, but not of its own results", async () => {
    const conversation = await Editor.with({ orders });
    const sql = "SELECT id FROM orders WHERE id > 1";
    for (const _ of [1, 2]) await conversation.saved(sql);
    expect(conversation.store.earlier("orders_query_1", 1)).toBeUndefined();
    await conversation.saved(sql, { saveAs: "orders" });
    expect(conversation.store.earlier("orders", 1)?.info).toMatchObject({ version: 1, count: 3 });
  });

  it("reports the variables that it reads before it runs, so that other calls run first", async () => {
    const conversation = await Editor.with({ orders, customers: [{ name: "ann" }] });
    const sql = `WITH big AS (SELECT * FROM orders WHERE total > $least)
      SELECT * FROM big JOIN customers c ON c.name = big.customer WHERE 'FROM nowhere' <> ''`;
    const flow = (await conversation.tools()).query.flow({ sql, saveAs: "found" });
    expect(new Set(flow.reads.map(({ name }) => name))).toEqual(
      new Set(["orders", "customers", "least"]),
    );
    expect(flow.writes).toEqual([{ name: "found", path: [] }]);
  });

  it("reads tables, but no references, in a statement from code", async () => {
    const conversation = await Editor.with({ orders });
    const from = { call: { madeOf: new Labels(conversation.store) } };
    const { output } = await conversation.saved("SELECT count(*) AS n FROM orders", from);
    expect(output).toMatchObject({ value: [{ n: 3 }] });
    const sql = "SELECT count(*) AS n FROM orders WHERE total > $orders[0].total";
    expect(await conversation.failure(sql, from)).toMatchObject({ code: "bad_query" });
  });

  it("describes an error in a message that a model can act on", async () => {
    const conversation = await Editor.with({ orders });
    expect(await conversation.failure("SELECT totl FROM orders")).toEqual({
      kind: "failed",
      code: "bad_query",
      message: `no such column: totl. Did you mean total?
SELECT totl FROM orders
       ^
Tables: orders(id, customer, total, index)`,
    });
    const misspelled = async (sql: string) => (await conversation.failure(sql))?.message;
    expect(await misspelled("SELECT id, FROM orders")).toContain("           ^");
    // It may be about either word.
    const twice = "SELECT id, FROM orders UNION SELECT id FROM orders";
    expect(await misspelled(twice)).not.toContain("^");
    const { message } = (await conversation.failure("SELECT * FROM order_s")) ?? {};
    expect(message).toContain("There is no table order_s. Did you mean orders?");
  });
});

describe("what query_variables may read", () => {
  it.each(["sealed", "secret"] as const)("is no %s variable, in any place", async (visibility) => {
    const conversation = await Editor.with({ orders });
    await conversation.store.save({ name: "hidden", value: [{ a: 1 }], visibility });
    for (const sql of [
      "SELECT 1 FROM orders, hidden",
      "SELECT count(*) FROM $hidden[*].a",
      "WITH a AS (SELECT * FROM 'hidden') SELECT 1",
      "SELECT count(*) FROM orders WHERE id = $hidden[0].a",
    ]) {
      expect(await conversation.failure(sql)).toMatchObject({ code: `variable_${visibility}` });
    }
  });

  it("may be a variable that is named as a table of the engine", async () => {
    const conversation = await Editor.with({ orders, chunk: [{ json: 1 }] });
    await conversation.saved("SELECT * FROM orders");
    const { output } = await conversation.saved("SELECT * FROM chunk");
    expect(output).toMatchObject({ value: [{ json: 1 }] });
    const hidden = await conversation.failure("SELECT * FROM main.chunk");
    expect(hidden).toMatchObject({ code: "bad_query" });
  });

  it("joins the labels of all tables", async () => {
    const conversation = await Editor.with({ orders });
    const mail = { name: "mail", value: [{ id: 1 }], trusted: false, sources: ["mcp:mail"] };
    await conversation.store.save(mail);
    const taint = new Taint();
    const sql = "SELECT customer FROM orders JOIN mail USING (id)";
    const { info, output } = await conversation.saved(sql, { taint });
    expect(info).toMatchObject({
      trusted: false,
      sources: ["tool:query_variables", "caller", "mcp:mail"],
    });
    expect(output).toMatchObject({ untrusted: true });
    expect(taint.isTainted).toBe(true);
  });

  it("quotes no cell of untrusted records to an agent that hides them", async () => {
    const conversation = new Editor();
    const value = [{ n: "5" }, { n: "obey me" }, { n: "70" }];
    await conversation.store.save({ name: "mail", value, trusted: false, sources: ["mcp:mail"] });
    const sql = "SELECT count(*) AS n FROM mail WHERE n > 40";
    const open = await conversation.saved(sql);
    expect(JSON.stringify(open.output)).toContain("obey me");
    const hidden = await conversation.saved(sql, { untrusted: "hide" });
    expect(JSON.stringify(hidden.output)).not.toContain("obey me");
  });

  it("marks a URL that the statement composes from values", async () => {
    const conversation = await Editor.with({
      orders,
      links: [{ url: "https://a.example/1" }],
    });
    const sql = "SELECT 'https://evil.example/?q=' || customer AS url FROM orders";
    expect((await conversation.saved(sql)).info?.flags).toEqual(["composed"]);
    const known = await conversation.saved("SELECT url FROM links");
    expect(known.info?.flags).toBeUndefined();
  });
});
