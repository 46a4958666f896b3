import { afterEach, describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { hasSchema, migrate } from "../../src/store/rows/migrations.ts";
import type { Sql } from "../../src/store/rows/sql.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { Tombstone } from "../../src/store/variable.ts";
import { History } from "../../src/turn/history/history.ts";
import { toUIMessage } from "../../src/turn/history/stored-message.ts";
import type { Json } from "../../src/value/json.ts";
import { infoOf, type OldMessage, type OldVariable, storedText, Version1 } from "./version-1.ts";
import {
  closeAll,
  dumpOf,
  emptySql,
  fails,
  migratedSql,
  one,
  rowsWritten,
  statementsOf,
  tablesOf,
} from "./watched-sql.ts";

const START_MS = Date.UTC(2026, 0, 1);
const now = () => START_MS + 3_600_000;

afterEach(closeAll);

/** Characters of one to four bytes in UTF-8. Cut at 349,525 units, chunks begin at odd places. */
const mixed = `a${"😀€éb".repeat(300_000)}`;
const values: Readonly<Record<string, Json>> = {
  number: -1.5e-300,
  empty: "",
  text: 'a\n"b"\\ é € 😀',
  reads_like_json: '{"a": 1}',
  nothing: null,
  no: false,
  list: [1, [null, { "": {} }]],
  keys: JSON.parse(`{"b": 1, "10": 2, "__proto__": {"a": 1}}`) as Json,
  nul: "\u0000a\u0000",
  alone: "\ud800a",
  full_row: "x".repeat(65_536),
  full_row_two: "é".repeat(32_768),
  over: "x".repeat(65_537),
  ascii: "0123456789".repeat(314_573),
  full_chunks: "y".repeat(2 * 1_048_576),
  two: "é".repeat(700_001),
  three: "€".repeat(349_525 * 2),
  pairs: "😀".repeat(500_000),
  mixed,
  nul_large: "a\u0000€".repeat(200_000),
  alone_large: `\udc00${mixed.slice(0, 900_000)}`,
  rows: Array.from({ length: 40_000 }, (_, id) => ({ id, name: `Zoë 😀 ${id} €` })),
  object: Object.fromEntries(Array.from({ length: 40_000 }, (_, id) => [`é😀${id}`, [id, "€"]])),
};

/** Small and large variables of every kind, not in alphabetical order. */
const variables: readonly OldVariable[] = [
  ...Object.entries(values).map(([name, value], index) => ({
    name,
    value,
    seq: 100 - 3 * index,
    createdMs: START_MS - index,
    updatedMs: START_MS + index,
  })),
  ...["small", mixed].map((value, index) => ({
    name: `result_${index + 2}`,
    value,
    seq: 200 + index,
    version: 7,
    createdMs: START_MS - 1_000_000,
    updatedMs: START_MS,
    description: "Of today \u0000é",
    tool: "get_weather",
    toolCallId: "call_1",
    input: { city: "$cities[0]", odd: "\ud800" },
    inputDigest: `digest ${index}`,
  })),
  ...["w_5", "due", "kept", "due_large"].map((name, index) => ({
    name,
    value: name === "due_large" ? mixed : name,
    seq: 300 + index,
    createdMs: START_MS,
    updatedMs: START_MS,
    dueMs: START_MS + (name.startsWith("due") ? 1 : 7_200_000),
    pinned: name === "kept",
  })),
];
const alive = variables
  .filter(({ name }) => !name.startsWith("due"))
  .toSorted((one, other) => one.seq - other.seq);

const at = { evictedAt: new Date(START_MS).toISOString(), reason: "expired" } as const;
const graves: readonly Tombstone[] = [
  { name: "z_gone", version: 3, ...at },
  { name: "load_x", version: 2, tool: "load", input: { id: "x" }, inputDigest: "digest x", ...at },
  { name: "variable_3", version: 1, ...at },
];

const messages: readonly OldMessage[] = [
  "Hello",
  "m".repeat(1_100_000),
  `"${mixed}`,
  "\ud800 alone",
].map((text, index) => ({
  id: `message ${index}`,
  role: index % 2 === 0 ? "user" : "assistant",
  parts: [{ type: "text", text }],
  ...(index === 2 ? { display: [`shown ${mixed}`], metadata: { tokens: 5 } } : {}),
  createdMs: START_MS + index,
}));

function version1(chosen: readonly OldVariable[] = variables) {
  const sql = emptySql();
  const old = new Version1(sql);
  for (const variable of chosen) old.variable(variable);
  for (const grave of graves) old.tombstone(grave);
  for (const message of messages) old.message(message);
  old.meta("numbers", JSON.stringify({ variable: 9, result: 4, w: 4 }));
  return sql;
}

const known = (variable: OldVariable) => infoOf(variable, now());

function migrated() {
  const sql = version1();
  migrate(sql, now());
  return { sql, store: new SqlStore(sql, { now }) };
}

describe("a migrated database of version 1", () => {
  it("has every variable in order, with its value and metadata", async () => {
    const { store } = migrated();
    expect(store.list()).toEqual(alive.map(known));
    expect([store.count(), store.page({ limit: 5 }).variables]).toEqual([
      alive.length,
      alive.slice(0, 5).map(known),
    ]);
    for (const variable of alive) {
      const { name, value } = variable;
      expect(store.info(name)).toEqual(known(variable));
      // Compared as booleans, because the difference of two texts of several megabytes is slow to print.
      expect([name, isSame(await store.read(name), value)]).toEqual([name, true]);
    }
  });

  it("reads every range of bytes, even across the old chunk boundaries", async () => {
    const { store } = migrated();
    for (const { name, value } of alive) {
      const bytes = Buffer.from(storedText(value));
      const open = store.open(name);
      expect(open?.info.bytes).toBe(bytes.length);
      const places = [0, 1, 65_535, 349_525, 1_048_574, 1_048_576, 1_048_579, bytes.length / 2];
      const within = places.map(Math.floor).filter((place) => place <= bytes.length);
      for (const from of within) {
        for (const to of [from, from + 1, from + 5, from + 1_048_577, bytes.length]) {
          if (to > bytes.length) continue;
          const read = (await open?.read(from, to)) ?? new Uint8Array();
          expect([name, from, to, bytes.subarray(from, to).equals(read)]).toContain(true);
        }
      }
      open?.close();
    }
  });

  it("reads every slice of a text and of an array", async () => {
    const { store } = migrated();
    const rows = values.rows as readonly Json[];
    const points = [...mixed];
    for (const [from, to] of [
      [0, 3],
      [-5, undefined],
      [299_999, 300_003],
      [7, -999_999],
    ] as const) {
      const path = [{ from, ...(to !== undefined && { to }) }];
      const text = { found: true, value: points.slice(from, to).join("") };
      expect(isSame(await store.readPath("mixed", path), text)).toBe(true);
      const list = { found: true, value: rows.slice(from, to) };
      expect(await store.readPath("rows", path)).toEqual(list);
    }
    const each = await store.readPath("rows", [{ each: true }, { key: "id" }]);
    expect(each).toEqual({ found: true, value: rows.map((_, id) => id) });
    const last = await store.readPath("rows", [{ index: -1 }, { key: "name" }]);
    expect(last).toEqual({ found: true, value: "Zoë 😀 39999 €" });
    const nobody = await store.readPath("rows", [{ index: 40_000 }]);
    expect(nobody).toEqual({ found: false, nearest: [], length: 40_000 });
  });

  it("has its tombstones, and new ones for expired variables", () => {
    const { store } = migrated();
    for (const grave of graves) {
      expect(store.tombstone(grave.name)).toEqual(grave);
      expect(store.couldBegin(grave.name)).toBe(true);
    }
    const due = { version: 1, reason: "expired", evictedAt: infoTime(START_MS + 1) };
    expect(store.tombstone("due")).toEqual({ name: "due", ...due });
    expect(store.evictDue(now(), 10).map(({ name }) => name)).toEqual(["due", "due_large"]);
    expect(store.tombstone("due_large")).toEqual({ name: "due_large", ...due });
    expect(store.nextDueMs()).toBe(START_MS + 7_200_000);
  });

  it("continues names, numbers, versions and order", async () => {
    const { sql, store } = migrated();
    const save = async (base: string, tool: string, inputDigest: string) =>
      store.save({ value: 1, tool, name: { base, numbered: false, inputDigest } });
    const again = await save("result", "get_weather", "digest 1");
    expect(again).toMatchObject({ name: "result_3", version: 8 });
    const another = await save("result", "get_weather", "another");
    expect(another).toMatchObject({ name: "result", version: 1 });
    expect(await save("result", "get_weather", "a third")).toMatchObject({ name: "result_5" });
    expect(await save("load_x", "load", "digest x")).toMatchObject({ name: "load_x", version: 3 });
    expect(await store.save({ value: 1 })).toMatchObject({ name: "variable_10", version: 1 });
    const last = store.list({ last: 5 }).map(({ name }) => name);
    expect(last).toEqual(["result_3", "result", "result_5", "load_x", "variable_10"]);
    for (const name of Object.keys(values)) {
      const before = store.info(name);
      const after = await store.save({ name, value: [name] });
      expect(after).toMatchObject({ version: 2, createdAt: before?.createdAt });
    }
    store.reset(0);
    const due = variables.find(({ name }) => name === "due_large");
    const chunksOfLarge = Math.ceil(storedText(due?.value ?? "").length / 349_525);
    const ofMessages = "(SELECT count(*) FROM chunk WHERE id NOT LIKE 'message %')";
    expect([store.count(), one(sql, ofMessages)]).toEqual([1, chunksOfLarge]);
  });

  it("has its messages, in both forms", () => {
    const { sql } = migrated();
    const history = new History(sql);
    const read = history.page({ limit: 10 }).messages;
    const wanted = messages.map(({ createdMs, ...message }) => ({
      ...message,
      createdAt: infoTime(createdMs),
    }));
    expect(isSame(read, wanted)).toBe(true);
    const [, , question] = read;
    const [shown] = question === undefined ? [] : toUIMessage(question, "display").parts;
    expect(isSame(shown, { type: "text", text: `shown ${mixed}` })).toBe(true);
    expect(history.hasQuestion("message 0")).toBe(true);
    history.removeAnswers("message 0");
    expect(one(sql, "(SELECT count(*) FROM chunk WHERE id LIKE 'message %')")).toBe(0);
  });

  it("was created with its oldest row, and has no idle variables yet", () => {
    const { sql, store } = migrated();
    const oldest = Math.min(...[...variables, ...messages].map(({ createdMs }) => createdMs));
    const created = sql.all(`SELECT value FROM meta WHERE key = 'created'`);
    expect(created).toEqual([{ value: String(oldest) }]);
    expect(
      store.evictDue(now() + limits.variableIdleMs - 1, 100).map(({ reason }) => reason),
    ).not.toContain("idle");
  });

  it("gets only the tables that a small conversation needs", async () => {
    const sql = emptySql();
    const old = new Version1(sql);
    const small = variables.find(({ name }) => name === "text");
    if (small !== undefined) old.variable(small);
    migrate(sql, now());
    expect(tablesOf(sql)).toEqual(tablesOf(migratedSql()));
    const store = new SqlStore(sql, { now });
    expect(store.list()).toEqual([small].map((variable) => variable && known(variable)));
    expect((await store.save({ name: "large", value: mixed })).location).toBe("chunks");
    expect(isSame(await new SqlStore(sql, { now }).read("large"), mixed)).toBe(true);
  });

  it("has the same tables and columns as a new one", async () => {
    const { sql } = migrated();
    const fresh = migratedSql();
    const store = new SqlStore(fresh, { now });
    await store.save({ name: "a", value: mixed, ttlMs: 0 });
    store.evictDue(now(), 1);
    expect(Object.keys(tablesOf(sql))).toContain("tombstone");
    expect(tablesOf(sql)).toEqual(tablesOf(fresh));
  });

  it("is unchanged after a failed step, wherever it failed", async () => {
    // Two bytes for each character, in three chunks.
    const chosen = variables.filter(({ name }) => ["text", "two", "result_2"].includes(name));
    const sqlAfter = version1(chosen);
    migrate(sqlAfter, now());
    const wanted = dumpOf(sqlAfter);
    const before = dumpOf(version1(chosen));
    for (let statements = 0; ; statements++) {
      const sql = version1(chosen);
      sql.statementsLeft = statements;
      if (!(await fails(() => migrate(sql, now())))) {
        expect(statements).toBeGreaterThan(5);
        break;
      }
      expect(isSame(dumpOf(sql), before)).toBe(true);
      migrate(sql, now());
      expect(isSame(dumpOf(sql), wanted)).toBe(true);
    }
  });
});

describe("migrations", () => {
  const schemaOf = (sql: Sql) =>
    sql.all(`SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name`);

  it("prepare an empty database for a store, and record the time", async () => {
    const sql = emptySql();
    expect(hasSchema(sql)).toBe(false);
    migrate(sql, START_MS);
    expect(hasSchema(sql)).toBe(true);
    const tables = ["event", "message", "meta", "turn", "variable"];
    expect(schemaOf(sql).map(({ name }) => name)).toEqual(tables);
    expect(sql.all("SELECT key, value FROM meta ORDER BY key")).toEqual([
      { key: "created", value: String(START_MS) },
      { key: "schema", value: "7" },
    ]);
    expect((await new SqlStore(sql, { now }).save({ value: 1 })).name).toBe("variable_1");
  });

  it("change nothing the second time, and cost two reads", async () => {
    for (const sql of [migratedSql(), migrated().sql]) {
      await new SqlStore(sql, { now }).save({ name: "large", value: mixed });
      const before = { schema: schemaOf(sql), rows: dumpOf(sql) };
      expect(await rowsWritten(sql, () => migrate(sql))).toBe(0);
      expect(await statementsOf(sql, () => migrate(sql))).toBe(2);
      expect(isSame({ schema: schemaOf(sql), rows: dumpOf(sql) }, before)).toBe(true);
    }
  });

  it("are atomic: a failed one starts from the beginning", async () => {
    for (let statements = 0; ; statements++) {
      const sql = emptySql();
      sql.statementsLeft = statements;
      if (!(await fails(() => migrate(sql)))) break;
      expect(schemaOf(sql)).toEqual([]);
      migrate(sql);
      expect(schemaOf(sql)).toEqual(schemaOf(migratedSql()));
    }
  });

  it("add what values are made of to version 6, whose values are never stale", async () => {
    const sql = migratedSql();
    await new SqlStore(sql, { now }).saveAll([
      { name: "orders", value: 1 },
      { name: "old", value: 1 },
    ]);
    sql.run(`ALTER TABLE variable DROP COLUMN made_of`);
    sql.run(`UPDATE meta SET value = '6' WHERE key = 'schema'`);
    migrate(sql);
    const madeOf = { orders: 1 };
    await new SqlStore(sql, { now }).save({ name: "new", value: 1, madeOf });
    await new SqlStore(sql, { now }).save({ name: "orders", value: 2 });
    const listed = new SqlStore(sql, { now }).list();
    expect(listed.map(({ name, madeOf: made, stale }) => [name, made, stale])).toEqual([
      ["old", undefined, undefined],
      ["new", madeOf, { madeOf: [{ name: "orders", version: 1, now: 2 }] }],
      ["orders", undefined, undefined],
    ]);
  });

  it("leave a newer database unchanged", () => {
    const sql = migratedSql();
    sql.run(`UPDATE meta SET value = '99' WHERE key = 'schema'`);
    migrate(sql);
    expect(one(sql, `(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'schema')`)).toBe(99);
  });
});

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function infoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
