import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { queries } from "../../src/byref.ts";
import { scriptedModel } from "byref/testing";
import { call, json, newId, objectOf, problemIn, put } from "../support/edge.ts";
import { httpCases } from "../support/http-cases.ts";
import { withRuntime } from "../support/own-runtime.ts";
import type { Authority } from "../../packages/query/src/query-databases.ts";
import type { QueryEngine } from "../../packages/query/src/query-engine.ts";
import { answerTo, leakIn, walled } from "../../packages/query/test/wall.ts";
import { wallStatements } from "../../packages/query/test/wall-statements.ts";
import { slow } from "../support/slow.ts";

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

const sql = (text: string, headers = {}) => json({ sql: text }, headers);
const SMALL = "SELECT id, customer FROM orders WHERE id < 3";
httpCases({
  "a query returns records of variables, or parts of them, and takes references as values": [
    ["PUT /variables/orders", json(ORDERS), 201],
    ["PUT /variables/wish", json({ skus: ["a", "c"], least: 2 }), 201],
    [
      "POST /query",
      sql("SELECT sku, qty FROM $orders[*].lines WHERE sku IN ($wish.skus) AND qty >= $wish.least"),
      200,
      '[{"sku":"a","qty":2}]',
    ],
    [
      "POST /query",
      sql("SELECT customer, sum(total) AS sum, 7 / $wish.least AS n FROM orders GROUP BY customer"),
      200,
      '[{"customer":"ann","sum":17,"n":3},{"customer":"bob","sum":5.5,"n":3}]',
    ],
  ],
  "a query returns lines, CSV or Markdown on request": [
    ["PUT /variables/orders", json(ORDERS), 201],
    [
      "POST /query",
      sql(SMALL, { accept: "application/x-ndjson" }),
      200,
      '{"id":1,"customer":"ann"}\n{"id":2,"customer":"bob"}\n',
    ],
    ["POST /query", sql(SMALL, { accept: "text/csv" }), 200, "id,customer\r\n1,ann\r\n2,bob\r\n"],
    [
      "POST /query",
      sql(SMALL, { accept: "text/markdown" }),
      200,
      "| id | customer |\n| --- | --- |\n| 1 | ann |\n| 2 | bob |\n",
    ],
  ],
  "a query is in the audit log by its variables and a digest, without its text": [
    ["PUT /variables/orders", json(ORDERS), 201],
    ["POST /query", sql("SELECT 'not to be seen' FROM orders"), 200],
    [
      "GET /events",
      200,
      {
        events: [
          {},
          {
            type: "variables.queried",
            query: { variables: ["orders"], digest: expect.stringMatching(/^[\w+/=-]{20,}$/) },
          },
        ],
      },
    ],
    ["GET /events", 200, /^(?!.*not to be seen)/],
  ],
});

it("the tables of a conversation are dropped with their variable, and when it is sealed", async () => {
  const id = newId();
  for (const name of ["a", "b", "c"]) await put(id, name, [{ n: 1 }]);
  await query(id, "SELECT * FROM a, b, c");
  expect(await loaded(id)).toEqual(["a", "b", "c"]);
  await call("DELETE", `/conversations/${id}/variables/a`);
  expect(await loaded(id)).toEqual([]);
  await query(id, "SELECT * FROM b, c");
  await put(id, "b?visibility=sealed", [{ n: 2 }]);
  expect(await loaded(id)).toEqual([]);
  expect(await records(id, "SELECT n FROM c")).toEqual([{ n: 1 }]);
  await call("DELETE", `/conversations/${id}`);
  await expect.poll(() => loaded(id)).toEqual([]);
});

it("the tables of a conversation are in one object as long as all is trusted and visible, and sealed ones in another", async () => {
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

it("the tables of a conversation are deleted before sealing is acknowledged, or if that fails, before the next change is", async () => {
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
  expect(await loaded(id)).toEqual([]);
});

it("without the binding TABLES the endpoint says what to configure, and models have no tool", async () => {
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

it.each([[undefined], [["p1"]], [["p1", "u1"]]])(
  "statements of a model show nothing sealed or secret in objects of their own, if the reader finds %j",
  slow,
  async (believed) => {
    const id = newId();
    const open = (authority: string): QueryEngine => {
      // The type of the namespace is that of the bound class, which the generated types do not include.
      const stub = env.TABLES.get(
        env.TABLES.idFromName(`${id} ${authority}`),
      ) as unknown as QueryEngine;
      return {
        run: (query) => stub.run(query),
        add: (key, chunk) => stub.add(key, chunk),
        keep: (keys) => stub.keep(keys),
      };
    };
    const { store, databases } = await walled({ believed, open });
    let done = 0;
    for (const sql of wallStatements) {
      const { text, trusted, isDone } = await answerTo(sql, store, databases);
      expect.soft(leakIn(text, trusted), sql).toBeUndefined();
      if (isDone) done++;
    }
    // Without checks, many of them run.
    expect(done).toBeGreaterThan(believed === undefined ? 0 : 30);
  },
);
