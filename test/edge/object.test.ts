import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { DurableSql } from "../../src/edge/platform/durable-sql.ts";
import * as limits from "../../src/limits.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import {
  ask,
  call,
  get,
  json,
  messagesOf,
  namesIn,
  newId,
  objectOf,
  put,
} from "../support/edge.ts";
import { slow } from "../support/slow.ts";

describe("an object that was evicted", () => {
  it("has its messages in both forms, and continues with them", async () => {
    const id = newId();
    await ask(id, "Weather in NYC?");
    const display = await messagesOf(id);
    const reference = await messagesOf(id, "?form=reference");
    await evictDurableObject(objectOf(id));
    expect(await messagesOf(id)).toEqual(display);
    expect(await messagesOf(id, "?form=reference")).toEqual(reference);
    expect(display.messages).toHaveLength(2);
    await evictDurableObject(objectOf(id));
    // The weather of New York is known only from the history.
    const { message, variables } = await ask(id, "Compare it with London");
    expect(JSON.stringify(message.parts)).toContain("$get_weather_nyc");
    expect(variables.map(({ name }) => name)).toContain("compare_weather_1");
    expect((await messagesOf(id)).messages).toHaveLength(4);
  });

  it("has its variables in order, with their values and metadata", async () => {
    const id = newId();
    const values = { c: [1, { a: null }], a: "é😀".repeat(100_000), b: "text" };
    for (const [name, value] of Object.entries(values))
      await put(id, `${name}?ttl=3600&pin=true&description=d`, value);
    const infos = await (await call("GET", `/conversations/${id}/variables`)).json();
    await evictDurableObject(objectOf(id));
    expect(await (await call("GET", `/conversations/${id}/variables`)).json()).toEqual(infos);
    expect(await namesIn(id)).toEqual(["c", "a", "b"]);
    expect(await (await get(id, "c")).json()).toEqual(values.c);
    expect((await (await get(id, "a")).text()) === values.a).toBe(true);
    expect(await (await get(id, "b")).text()).toBe(values.b);
    await put(id, "c", 2);
    expect(await namesIn(id)).toEqual(["a", "b", "c"]);
    expect(await (await get(id, "c/info")).json()).toMatchObject({ version: 2 });
  });

  it("reuses no number", async () => {
    const id = newId();
    const remove = (name: string) => call("DELETE", `/conversations/${id}/variables/${name}`);
    for (const name of ["list_orders_1", "list_orders_2", "list_orders_3"]) {
      await ask(id, "Show my orders", { agent: "orders" });
      expect(await namesIn(id)).toEqual([name]);
      expect((await remove(name)).status).toBe(204);
      await evictDurableObject(objectOf(id));
    }
  });

  it("has its tombstones", async () => {
    const id = newId();
    await put(id, "a?ttl=3600", 1);
    await runInDurableObject(objectOf(id), (_, { storage }) => {
      storage.sql.exec("UPDATE variable SET expires_at = 1");
    });
    // The stored alarm knows when variables expire.
    await evictDurableObject(objectOf(id));
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    const before = await (await get(id, "a")).json();
    expect(before).toMatchObject({ code: "variable_evicted" });
    await evictDurableObject(objectOf(id));
    expect(await (await get(id, "a")).json()).toEqual(before);
    expect(await put(id, "a", 2)).toMatchObject({ version: 2 });
  });
});

describe("what is written", () => {
  /** Returns how many rows each step writes, in a new object. */
  function rowsOf(steps: (store: SqlStore) => readonly (() => unknown)[]) {
    return runInDurableObject(objectOf(newId()), async (_, { storage }) => {
      await storage.deleteAll();
      const sql = new DurableSql(storage);
      const rows: number[] = [];
      const count = async (step: () => unknown) => {
        const before = sql.cost.rowsWritten;
        await step();
        rows.push(sql.cost.rowsWritten - before);
      };
      await count(() => migrate(sql));
      for (const step of steps(new SqlStore(sql))) await count(step);
      await count(() => migrate(sql));
      return rows;
    });
  }

  it("is nothing when an unknown conversation is read", async () => {
    const id = newId();
    const reads = ["messages", "variables", "variables/a", "variables/a/info"];
    const wanted = [200, 200, 404, 404];
    for (const [index, path] of reads.entries()) {
      const response = await call("GET", `/conversations/${id}/${path}`);
      expect(response.status).toBe(wanted[index]);
    }
    const tables = await runInDurableObject(objectOf(id), (_, state) =>
      state.storage.sql.exec(`SELECT name FROM sqlite_master WHERE name NOT LIKE '_cf%'`).toArray(),
    );
    expect(tables).toEqual([]);
    await ask(id, "Hello");
    expect((await call("GET", `/conversations/${id}/messages`)).status).toBe(200);
  });

  it("is 12 rows at first touch, at most 14, and none when it wakes again", async () => {
    const [first, again] = await rowsOf(() => []);
    console.log(`rows written at first touch: ${first}`);
    expect(first).toBeLessThanOrEqual(14);
    expect(first).toBe(12);
    expect(again).toBe(0);
  });

  it("is one row for a small variable: new, changed, numbered, of the full row's size", async () => {
    const rows = await rowsOf((store) => [
      () => store.save({ name: "a", value: 1 }),
      () => store.save({ name: "a", value: { b: 2 }, ttlMs: 1_000, pinned: true }),
      () => store.save({ value: 1 }),
      () => store.save({ value: 1 }),
      () => store.save({ name: "b", value: "x".repeat(limits.maxRowBytes) }),
      () => store.read("a"),
      () => store.list(),
    ]);
    console.log(`rows written by small saves: ${rows.slice(1, -1).join(", ")}`);
    expect(rows.slice(1, -1)).toEqual([1, 1, 1, 1, 1, 0, 0]);
  });

  // Two messages, the turn's begin and end, and one row of events. For each step with tools: its calls, their
  // outcomes and its variables.
  it.each([
    { question: "Who are you?", agent: "weather", rows: 5 },
    { question: "Weather in NYC?", agent: "weather", rows: 8 },
    { question: "Compare NYC and London", agent: "weather", rows: 12 },
  ])("is $rows rows in the turn: $question", async ({ question, agent, rows }) => {
    const id = newId();
    for (let times = 0; times < 3; times++) {
      const { cost } = await ask(id, question, { agent });
      const { rowsWritten = 0, alarms = 0 } = cost;
      console.log(`rows written by "${question}": ${rowsWritten}, of which alarms: ${alarms}`);
      expect(rowsWritten - alarms).toBe(rows);
      // At the begin of the turn, if the alarm of the first request is not early enough, and at the end.
      expect(alarms).toBe(times === 0 ? 1 : 2);
    }
  });

  it("is counted exactly in a turn's cost", async () => {
    const id = newId();
    const { cost } = await ask(id, "Weather in NYC?", { input: { a: 1 } });
    const rows = await runInDurableObject(objectOf(id), (_, { storage: { sql } }) => {
      const count = (table: string) => sql.exec(`SELECT * FROM ${table}`).toArray().length;
      return count("message") + count("variable") + count("event");
    });
    expect(rows).toBe(5);
    const turnRows = ["begin", "step", "results", "end"].length;
    expect(cost.rowsWritten).toBe(rows + turnRows + (cost.alarms ?? 0));
  });

  it("leaves nothing of a large value that was replaced, deleted or reset", async () => {
    const id = newId();
    const chunks = () =>
      runInDurableObject(objectOf(id), (_, { storage: { sql } }) =>
        sql.exec("SELECT * FROM chunk").toArray(),
      );
    const large = "x".repeat(limits.maxRowBytes + 1);
    const remove = (rest: string) => call("DELETE", `/conversations/${id}/variables${rest}`);
    for (const name of ["a", "a", "b", "c"]) await put(id, name, large);
    expect(await chunks()).toHaveLength(4);
    // A variable keeps two earlier versions.
    for (const left of [4, 3, 2]) {
      await put(id, "a", "small");
      expect(await chunks()).toHaveLength(left);
    }
    await remove("/b");
    expect(await chunks()).toHaveLength(1);
    for (const name of ["c", "d"]) await put(id, name, large);
    expect(await chunks()).toHaveLength(3);
    await remove("/c");
    expect(await chunks()).toHaveLength(1);
    await put(id, "d", "small");
    await remove("");
    expect(await chunks()).toEqual([]);
  });

  it("has no row that is too large for the platform", slow, async () => {
    const id = newId();
    for (const size of [1_900_000, 3_000_000]) {
      const init = json({ message: "x".repeat(size) }, { accept: "text/plain" });
      await (await call("POST", `/conversations/${id}/messages`, init)).text();
    }
    await put(id, "a", "€".repeat(3_000_000));
    const largest = await runInDurableObject(objectOf(id), (_, { storage: { sql } }) => {
      const bytesOf = (table: string, column: string) =>
        sql
          .exec<{ bytes: number | null }>(
            `SELECT max(length(CAST(${column} AS BLOB))) AS bytes FROM ${table}`,
          )
          .one().bytes;
      return [bytesOf("message", "body"), bytesOf("chunk", "bytes"), bytesOf("variable", "value")];
    });
    for (const bytes of largest) expect(bytes ?? 0).toBeLessThanOrEqual(limits.maxSqlValueBytes);
  });
});
