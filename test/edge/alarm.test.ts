import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { DurableSql } from "../../src/edge/platform/durable-sql.ts";
import * as limits from "../../src/limits.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { alarmOf, HOUR_MS, inStorage } from "../support/storage.ts";
import {
  ask,
  call,
  chunksIn,
  framesIn,
  get,
  json,
  newId,
  objectOf,
  problemIn,
  put,
  textOf,
} from "../support/edge.ts";

// An object with unwritten access times is not evicted until it has written them.
/** Makes these variables expire, and evicts the object from memory. */
async function expire(id: string, ...names: readonly string[]): Promise<string> {
  const past = Date.now() - 1_000;
  await inStorage(id, ({ sql }) => {
    for (const name of names)
      sql.exec("UPDATE variable SET expires_at = ? WHERE name = ?", past, name);
  });
  await evictDurableObject(objectOf(id));
  return new Date(past).toISOString();
}

/** Rows in the database, read without the store. */
function rowsOf(id: string) {
  return inStorage(id, ({ sql }) => {
    const tables = new Set([...sql.exec("SELECT name FROM sqlite_master")].map(({ name }) => name));
    const namesIn = (table: string) =>
      tables.has(table)
        ? [...sql.exec(`SELECT name FROM ${table} ORDER BY name`)].map(({ name }) => name)
        : [];
    return { variables: namesIn("variable"), tombstones: namesIn("tombstone") };
  });
}

function dueAt(info: { readonly expiresAt?: string }): number {
  return Date.parse(info.expiresAt ?? "");
}

/** Time at which an unused variable is evicted, in milliseconds. */
function idleAt(info: { readonly accessedAt: string }): number {
  return Date.parse(info.accessedAt) + limits.variableIdleMs;
}

describe("the alarm", () => {
  it("is set once, for when the first variable of a new conversation has been unused too long", async () => {
    const id = newId();
    const before = Date.now();
    const info = await put(id, "a", 1);
    const due = (await alarmOf(id)) ?? 0;
    expect(due).toBeGreaterThanOrEqual(before + limits.variableIdleMs);
    expect(due).toBeLessThanOrEqual(idleAt(info));
    await put(id, "a", 2);
    await put(id, "b", 2);
    expect(await alarmOf(id)).toBe(due);
  });

  it("belongs to a turn while it runs, and is then set for what is due next", async () => {
    const id = newId();
    const info = await put(id, "a", 1);
    await ask(id, "Who are you?");
    await vi.waitUntil(async () => (await alarmOf(id)) === idleAt(info));
  });

  it("is moved by an earlier ttl, but not by a later one, also after an eviction", async () => {
    const id = newId();
    const first = dueAt(await put(id, "a?ttl=3600", 1));
    await put(id, "b?ttl=7200", 1);
    expect(await alarmOf(id)).toBe(first);
    const second = dueAt(await put(id, "c?ttl=1800", 1));
    expect(await alarmOf(id)).toBe(second);
    await evictDurableObject(objectOf(id));
    await put(id, "d?ttl=2700", 1);
    expect(await alarmOf(id)).toBe(second);
    const third = dueAt(await put(id, "e?ttl=900", 1));
    expect(await alarmOf(id)).toBe(third);
    await put(id, "f", 1);
    expect(await alarmOf(id)).toBe(third);
  });

  it("costs a row only when it is set, and is not set for a later time, also after an eviction", async () => {
    const id = newId();
    await put(id, "first?ttl=1800", 1);
    const spyOnAlarm = () =>
      runInDurableObject(objectOf(id), (_, { storage }) => vi.spyOn(storage, "setAlarm"));
    for (const pause of [false, true]) {
      if (pause) await evictDurableObject(objectOf(id));
      const setAlarm = await spyOnAlarm();
      for (const name of ["a", "b", "c"]) await put(id, `${name}?ttl=3600`, 1);
      expect(setAlarm).not.toHaveBeenCalled();
      await put(id, `earlier?ttl=${pause ? 600 : 900}`, 1);
      expect(setAlarm).toHaveBeenCalledTimes(1);
    }
  });

  it("evicts what is due, leaves a tombstone, and is armed again for the next", async () => {
    const id = newId();
    const idle = idleAt(await put(id, "kept", 1));
    await put(id, "a?ttl=3600", "x".repeat(100_000));
    const next = dueAt(await put(id, "b?ttl=7200", 2));
    await expire(id, "a");
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    expect(await rowsOf(id)).toEqual({ variables: ["b", "kept"], tombstones: ["a"] });
    expect(await inStorage(id, ({ sql }) => [...sql.exec("SELECT * FROM chunk")])).toEqual([]);
    expect(await alarmOf(id)).toBe(next);
    await expire(id, "b");
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    expect(await rowsOf(id)).toEqual({ variables: ["kept"], tombstones: ["a", "b"] });
    expect(await alarmOf(id)).toBe(idle);
  });

  it("does no harm when it fires early, or twice", async () => {
    const id = newId();
    const next = dueAt(await put(id, "b?ttl=7200", 2));
    await put(id, "a?ttl=3600", 1);
    await inStorage(id, (storage) => storage.setAlarm(Date.now() + HOUR_MS / 2));
    await evictDurableObject(objectOf(id));
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    expect(await rowsOf(id)).toEqual({ variables: ["a", "b"], tombstones: [] });
    const evictedAt = await expire(id, "a");
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    for (let times = 0; times < 3; times++) {
      expect(await rowsOf(id)).toEqual({ variables: ["b"], tombstones: ["a"] });
      expect(await alarmOf(id)).toBe(next);
      const { tombstone } = await problemIn(await get(id, "a"), "variable_evicted");
      expect(tombstone).toMatchObject({ version: 1, evictedAt });
      await runInDurableObject(objectOf(id), (conversation) => conversation.alarm());
    }
  });

  it("evicts more variables than one pass can", async () => {
    const id = newId();
    await put(id, "z?ttl=3600", 1);
    const names = Array.from({ length: 1_100 }, (_, index) => `v_${index}`);
    await inStorage(id, async (storage) => {
      const store = new SqlStore(new DurableSql(storage));
      for (const name of names) await store.save({ name, value: 1, ttlMs: HOUR_MS });
    });
    await expire(id, ...names);
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    // Further alarms evict the rest without a request.
    const left = async () => expect((await rowsOf(id)).variables).toEqual(["z"]);
    await vi.waitFor(left, { interval: 20 });
    expect((await rowsOf(id)).tombstones).toHaveLength(1_000);
    expect(await alarmOf(id)).toBeGreaterThan(Date.now());
  });
});

describe("an expired variable", () => {
  it("is gone for a model, too: its prompt says that it was removed", async () => {
    const id = newId();
    const promptOf = async () => (await ask(id, "Who are you?")).savings.promptChars ?? 0;
    await promptOf();
    await put(id, "a?ttl=3600&description=something", 1);
    const listed = await promptOf();
    await expire(id, "a");
    const [first, second] = [await promptOf(), await promptOf()];
    // Each turn adds the same question and answer. This turn also adds a line to the list of variables.
    const added = first - listed - (second - first);
    expect(added).toBe("\n$a: removed".length);
  });

  it.each([true, false])(
    "is named with the time of its eviction and the call that restores it: swept %s",
    async (isSwept) => {
      const id = newId();
      await ask(id, "Show my refunded orders", { agent: "orders" });
      const evictedAt = await expire(id, "list_orders_refunded");
      if (isSwept) await runInDurableObject(objectOf(id), (conversation) => conversation.alarm());
      const message =
        `$list_orders_refunded was evicted at ${evictedAt} (expired). It came from ` +
        `list_orders({"status":"refunded"}): call that again to have it back.`;
      const { detail, tombstone } = await problemIn(
        await get(id, "list_orders_refunded"),
        "variable_evicted",
      );
      expect(detail).toBe(message);
      const input = { status: "refunded" };
      expect(tombstone).toMatchObject({ tool: "list_orders", input });

      // The demo model still finds the list in its history, and passes it to a tool.
      const body = { message: "Monthly totals of my refunded orders?", agent: "orders" };
      const post = await call("POST", `/conversations/${id}/messages`, json(body));
      const chunks = chunksIn(await framesIn(post));
      const errors = chunks.filter(({ type }) => type === "tool-output-error");
      expect(errors).toEqual([
        {
          type: "tool-output-error",
          toolCallId: expect.any(String),
          errorText: `variable_evicted: ${message}`,
        },
      ]);
      // The answer contains the reason, and therefore the variable's name.
      const unresolved = chunks.filter(({ type }) => type === "data-unresolved");
      expect(unresolved).toEqual([
        {
          type: "data-unresolved",
          data: expect.objectContaining({ reference: "$list_orders_refunded", message }),
          transient: true,
        },
      ]);
      const { message: answer } = await ask(id, "Show my refunded orders", { agent: "orders" });
      expect(textOf(answer)).toMatch(/^There are \d+ refunded orders/);
      expect(await (await get(id, "list_orders_refunded/info")).json()).toMatchObject({
        version: 2,
      });
    },
  );
});
