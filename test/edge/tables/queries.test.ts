import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { queries } from "../../../src/byref.ts";
import { queryIdleMs } from "../../../src/limits.ts";
import { scriptedModel } from "../../../packages/testing/src/testing.ts";
import { slow } from "../../support/slow.ts";
import { runAlarm } from "../../support/storage.ts";
import { call, get, json, newId, objectOf, problemIn, put } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import type { Authority } from "../../../packages/query/src/query-databases.ts";

const ORDERS = [
  { id: 1, customer: "ann", total: 10, paid: true, lines: [{ sku: "a", qty: 2 }] },
  {
    id: 2,
    customer: "bob",
    total: 5.5,
    paid: false,
    lines: [
      { sku: "a", qty: 1 },
      { sku: "b", qty: 4 },
    ],
  },
  { id: 3, customer: "ann", total: 7, paid: true, lines: [] },
];

function query(id: string, sql: string, headers: Readonly<Record<string, string>> = {}) {
  return call("POST", `/conversations/${id}/query`, json({ sql }, headers));
}

async function records(id: string, sql: string): Promise<unknown> {
  const response = await query(id, sql);
  expect(await response.clone().text()).toMatch(/^\[/);
  return response.json();
}

function tablesOf(id: string, authority: Authority = "trusted") {
  const { TABLES } = env;
  return TABLES.get(TABLES.idFromName(`${objectOf(id).id} ${authority}`));
}

/** Returns the tables that are loaded in one of a conversation's databases. */
function loaded(id: string, authority?: Authority): Promise<readonly string[]> {
  return runInDurableObject(tablesOf(id, authority), (_, { storage: { sql } }) => {
    const found = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'chunk'").toArray();
    if (found.length === 0) return [];
    const rows = sql.exec("SELECT json ->> 'key' AS key FROM chunk WHERE seq = -1").toArray();
    return rows.map(({ key }) => String(key).split(" ")[0] ?? "").sort();
  });
}

describe("a query over HTTP", () => {
  it("returns records from variables by their names", async () => {
    const id = newId();
    await put(id, "orders", ORDERS);
    const sql = "SELECT customer, sum(total) AS sum, count(*) AS n FROM orders GROUP BY customer";
    expect(await records(id, sql)).toEqual([
      { customer: "ann", sum: 17, n: 2 },
      { customer: "bob", sum: 5.5, n: 1 },
    ]);
  });

  it("accepts parts of variables as tables, and references as values", async () => {
    const id = newId();
    await put(id, "orders", ORDERS);
    await put(id, "wish", { skus: ["a", "c"], least: 2 });
    const sql =
      "SELECT sku, qty FROM $orders[*].lines WHERE sku IN ($wish.skus) AND qty >= $wish.least";
    expect(await records(id, sql)).toEqual([{ sku: "a", qty: 2 }]);
    expect(await records(id, "SELECT typeof($wish.least) AS t, 7 / $wish.least AS n")).toEqual([
      { t: "integer", n: 3 },
    ]);
  });

  it("says in a header where it depends on texts that were not read as numbers", async () => {
    const id = newId();
    await put(id, "crm", [{ price: "€5" }, { price: "20" }]);
    const sql = "SELECT sum(price) AS sum FROM crm";
    const response = await query(id, sql);
    expect(await response.json()).toEqual([{ sum: 20 }]);
    const notes: unknown = JSON.parse(response.headers.get("x-byref-notes") ?? "");
    expect(notes).toEqual([expect.stringContaining(`CAST(REPLACE("price", '€', '') AS REAL)`)]);
    const saved = await call("POST", `/conversations/${id}/query`, json({ sql, saveAs: "sum" }));
    expect(await saved.json()).toMatchObject({ description: expect.stringContaining("€5") });
    const plain = await query(id, `SELECT sum(CAST(REPLACE(price, '€', '') AS REAL)) FROM crm`);
    expect(plain.headers.has("x-byref-notes")).toBe(false);
  });

  it("returns lines, CSV or Markdown on request", async () => {
    const id = newId();
    await put(id, "orders", ORDERS);
    const sql = "SELECT id, customer FROM orders WHERE id < 3";
    const textOf = async (accept: string) => (await query(id, sql, { accept })).text();
    expect(await textOf("application/x-ndjson")).toBe(
      '{"id":1,"customer":"ann"}\n{"id":2,"customer":"bob"}\n',
    );
    expect(await textOf("text/csv")).toBe("id,customer\r\n1,ann\r\n2,bob\r\n");
    expect(await textOf("text/markdown")).toBe(
      "| id | customer |\n| --- | --- |\n| 1 | ann |\n| 2 | bob |\n",
    );
  });

  it("writes CSV, lines and numbers like a saved variable, and columns even without records", async () => {
    const id = newId();
    const cells = ["=1+2", 'a "b", c', "x\r\ny", "", null, 1e21, -0.5, true, " é|😀 ", "@SUM(A1)"];
    await put(
      id,
      "cells",
      cells.map((cell, n) => ({ n, "a, b": cell })),
    );
    const sql = "SELECT * FROM cells";
    const saved = await call("POST", `/conversations/${id}/query`, json({ sql, saveAs: "kept" }));
    expect(saved.status).toBe(201);
    for (const accept of ["text/csv", "application/x-ndjson", "application/json"]) {
      const answer = await query(id, sql, { accept });
      const at = `/conversations/${id}/variables/kept`;
      const kept = await call("GET", at, { headers: { accept } });
      expect(await answer.text()).toBe(await kept.text());
      expect(answer.headers.get("content-type")?.split(";")[0]).toBe(accept);
    }
    const none = await query(id, "SELECT n, 1 AS `a,b` FROM cells LIMIT 0", { accept: "text/csv" });
    expect(await none.text()).toBe('n,"a,b"\r\n');
  });

  it("explains an error with its position and the available names", async () => {
    const id = newId();
    await put(id, "orders", ORDERS);
    const sql = "SELECT customer,\n  totl FROM orders";
    const problem = await problemIn(await query(id, sql), "bad_query");
    expect(problem).toMatchObject({
      message: "no such column: totl.",
      position: sql.indexOf("totl"),
      caret: "  totl FROM orders\n  ^",
      tables: { orders: ["id", "customer", "total", "paid", "lines", "index"] },
      near: ["total"],
    });
    const unknown = await problemIn(await query(id, "SELECT * FROM ordrs"), "bad_query");
    expect(unknown).toMatchObject({ position: 14, near: ["orders"] });
    const broken = await problemIn(await query(id, "SELECT 'é', * FORM orders"), "bad_query");
    expect(broken).toMatchObject({ position: 14, message: 'near "FORM": syntax error.' });
  });

  it("keeps the previous version when records are saved over a variable", async () => {
    const id = newId();
    await put(id, "orders", ORDERS);
    const sql = "SELECT id FROM orders WHERE id = 2";
    const response = await call(
      "POST",
      `/conversations/${id}/query`,
      json({ sql, saveAs: "orders" }),
    );
    expect(await response.json()).toMatchObject({ name: "orders", version: 2 });
    expect(await (await get(id, "orders")).json()).toEqual([{ id: 2 }]);
    expect(await (await get(id, "orders?version=1")).json()).toEqual(ORDERS);
  });

  it("reads records with a key that has a NUL character", async () => {
    const id = newId();
    await put(id, "orders", [{ "a\0b": 1, c: 2 }]);
    expect(await records(id, "SELECT * FROM orders")).toEqual([{ "a\ufffdb": 1, c: 2 }]);
    expect(await records(id, "SELECT c FROM orders")).toEqual([{ c: 2 }]);
  });

  it("says that a variable was evicted, as a table and as a value", async () => {
    const id = newId();
    await put(id, "orders", ORDERS);
    await runInDurableObject(objectOf(id), (_, { storage }) => {
      storage.sql.exec("UPDATE variable SET expires_at = 1");
    });
    await evictDurableObject(objectOf(id));
    await runAlarm(id);
    for (const sql of ["SELECT * FROM orders", "SELECT $orders[0].id AS n"])
      await problemIn(await query(id, sql), "variable_evicted");
  });

  it("saves records with the guards of their sources", async () => {
    const id = newId();
    await put(id, "orders?visibility=sealed", ORDERS);
    const sql = "SELECT customer FROM orders WHERE total > 6";
    const response = await call("POST", `/conversations/${id}/query`, json({ sql, saveAs: "big" }));
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ name: "big", count: 2, visibility: "sealed" });
    expect(await (await get(id, "big")).json()).toEqual([{ customer: "ann" }, { customer: "ann" }]);
    await put(id, "key?visibility=secret", [{ a: 1 }]);
    await problemIn(await query(id, "SELECT * FROM key"), "variable_secret");
  });

  it("uses a new version of a variable at once", async () => {
    const id = newId();
    for (const n of [1, 2, 3]) {
      await put(id, "rows", [{ n }]);
      expect(await records(id, "SELECT n FROM rows")).toEqual([{ n }]);
      expect(await records(id, "SELECT n FROM rows")).toEqual([{ n }]);
    }
    expect(await loaded(id)).toEqual(["rows"]);
  });

  it("is in the audit log by its variables and a digest, without its text", async () => {
    const id = newId();
    await put(id, "orders", ORDERS);
    await query(id, "SELECT 'not to be seen' FROM orders");
    const text = await (await call("GET", `/conversations/${id}/events`)).text();
    expect(text).not.toContain("not to be seen");
    expect(JSON.parse(text).events.at(-1)).toMatchObject({
      type: "variables.queried",
      query: { variables: ["orders"], digest: expect.stringMatching(/^[\w+/=-]{20,}$/) },
    });
  });

  it(
    "does not wait for the log, which is written seconds later, or when it is read",
    slow,
    async () => {
      const id = newId();
      await put(id, "orders", ORDERS);
      const written = () =>
        runInDurableObject(objectOf(id), (_, { storage: { sql } }) => {
          const rows = sql.exec("SELECT data FROM event").toArray();
          return rows.filter(({ data }) => String(data).includes("variables.queried")).length;
        });
      await query(id, "SELECT * FROM orders");
      expect(await written()).toBe(0);
      await call("GET", `/conversations/${id}/events`);
      expect(await written()).toBe(1);
      await query(id, "SELECT * FROM orders");
      await expect.poll(written).toBe(2);
    },
  );
});

describe("the tables of a conversation", () => {
  it("are dropped with their variable, and when it is sealed", async () => {
    const id = newId();
    for (const name of ["a", "b", "c"]) await put(id, name, [{ n: 1 }]);
    await query(id, "SELECT * FROM a, b, c");
    expect(await loaded(id)).toEqual(["a", "b", "c"]);
    await call("DELETE", `/conversations/${id}/variables/a`);
    await put(id, "b?visibility=sealed", [{ n: 2 }]);
    expect(await loaded(id)).toEqual(["c"]);
    await call("DELETE", `/conversations/${id}`);
    await expect.poll(() => loaded(id)).toEqual([]);
  });

  it("are in one object as long as all is trusted and visible, and sealed ones in another", async () => {
    const id = newId();
    await put(id, "a", [{ n: 1 }]);
    await put(id, "b?visibility=sealed", [{ n: 2 }]);
    await query(id, "SELECT * FROM a");
    expect([await loaded(id), await loaded(id, "person")]).toEqual([["a"], []]);
    expect(await records(id, "SELECT a.n AS a, b.n AS b FROM a, b")).toEqual([{ a: 1, b: 2 }]);
    expect(await loaded(id)).toEqual(["a"]);
    expect(await loaded(id, "visible")).toEqual([]);
    expect(await loaded(id, "person")).toEqual(["a", "b"]);
  });

  it("are deleted before sealing is acknowledged, or if that fails, before the next change is", async () => {
    const id = newId();
    for (const name of ["a", "b"]) await put(id, name, [{ n: 1 }]);
    await query(id, "SELECT * FROM a, b");
    // The object of tables cannot be reached: sealing is not acknowledged.
    const lost = { keep: () => Promise.reject(new Error("lost")) };
    await runInDurableObject(tablesOf(id), (tables) => void Object.assign(tables, lost));
    const path = `/conversations/${id}/variables/a?visibility=sealed`;
    const sealing = await call("PUT", path, json([{ n: 2 }])).catch(() => undefined);
    expect(sealing?.ok).not.toBe(true);
    expect(await loaded(id)).toEqual(["a", "b"]);
    await runInDurableObject(tablesOf(id), (tables) => void Reflect.deleteProperty(tables, "keep"));
    // Any other change: it waits for what is due.
    await put(id, "c", [{ n: 3 }]);
    expect(await loaded(id)).toEqual(["b"]);
  });

  it("are dropped when they are idle, and loaded again for the next query", async () => {
    const id = newId();
    await put(id, "a", [{ n: 1 }]);
    await query(id, "SELECT * FROM a");
    await runDurableObjectAlarm(tablesOf(id));
    expect(await loaded(id)).toEqual(["a"]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + queryIdleMs });
    try {
      await runDurableObjectAlarm(tablesOf(id));
    } finally {
      vi.useRealTimers();
    }
    expect(await loaded(id)).toEqual([]);
    expect(await records(id, "SELECT * FROM a")).toEqual([{ n: 1 }]);
  });

  it("cost at most 12 rows for 10 MB", slow, async () => {
    const id = newId();
    const text = "x".repeat(180);
    const rows = Array.from({ length: 50_000 }, (_, n) => ({ n, text }));
    expect(JSON.stringify(rows).length).toBeGreaterThan(10_000_000);
    await put(id, "rows", rows);
    const cursors: { readonly rowsWritten: number }[] = [];
    await runInDurableObject(tablesOf(id), (_, { storage: { sql } }) => {
      const { exec } = sql;
      Object.assign(sql, {
        exec: (...given: Parameters<typeof exec>) => {
          const cursor = exec.apply(sql, given);
          cursors.push(cursor);
          return cursor;
        },
      });
    });
    expect(await records(id, "SELECT count(*) AS n FROM rows")).toEqual([{ n: 50_000 }]);
    const alarms = 1;
    const written = cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, alarms);
    expect(cursors.length).toBeGreaterThan(5);
    expect(written).toBeLessThanOrEqual(12);
  });
});

describe("without the binding TABLES", () => {
  it("the endpoint says what to configure, and models have no tool", async () => {
    const model = scriptedModel(["Done."]);
    const agents = [{ name: "a", description: "a", instructions: "a", tools: {} }] as const;
    await withRuntime(
      { agents, model, queries },
      async ({ call }) => {
        await call("PUT", "/conversations/x/variables/a", json([{ n: 1 }]));
        const response = await call("POST", "/conversations/x/query", json({ sql: "SELECT 1" }));
        const { detail } = await problemIn(response, "not_configured");
        expect(detail).toContain('name = "TABLES"');
        await call("POST", "/conversations/x/messages", json({ message: "Hi" }));
        const names = model.calls[0]?.tools?.map(({ name }) => name) ?? [];
        expect(names).not.toContain("query_variables");
      },
      { bindings: { TABLES: undefined } },
    );
  });
});
