import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it, vi, beforeEach } from "vitest";
import * as limits from "../../src/limits.ts";
import {
  alarmOf,
  HOUR_MS,
  inStorage,
  age,
  blobsOf,
  runAlarm,
  spreadMs,
  tablesOf,
  withoutTimers,
} from "../support/storage.ts";
import { ask, call, get, json, newId, objectOf, problemIn, put, namesIn } from "../support/edge.ts";
import { anyBytes, putAs } from "../support/values.ts";

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

const dueAt = (info: { readonly expiresAt?: string }): number => Date.parse(info.expiresAt ?? "");

/** Time at which an unused variable of this conversation is evicted, in milliseconds. */
function idleAt(id: string, info: { readonly accessedAt: string }): number {
  return Date.parse(info.accessedAt) + limits.variableIdleMs + spreadMs(id);
}

describe("the alarm", () => {
  it("is set once, for when the first variable of a new conversation has been unused too long", async () => {
    const id = newId();
    const before = Date.now();
    const info = await put(id, "a", 1);
    const due = (await alarmOf(id)) ?? 0;
    expect(due).toBeGreaterThanOrEqual(before + limits.variableIdleMs + spreadMs(id));
    expect(due).toBeLessThanOrEqual(idleAt(id, info));
    await put(id, "a", 2);
    await put(id, "b", 2);
    expect(await alarmOf(id)).toBe(due);
  });

  it("belongs to a turn while it runs, and is then set for what is due next", async () => {
    const id = newId();
    const info = await put(id, "a", 1);
    await ask(id, "Who are you?");
    await vi.waitUntil(async () => (await alarmOf(id)) === idleAt(id, info));
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

  it("evicts what is due, leaves a tombstone, and is armed again for the next; it may fire early, or twice", async () => {
    const id = newId();
    const idle = idleAt(id, await put(id, "kept", 1));
    await put(id, "a?ttl=3600", "x".repeat(100_000));
    const next = dueAt(await put(id, "b?ttl=7200", 2));
    await runAlarm(id);
    expect(await rowsOf(id)).toEqual({ variables: ["a", "b", "kept"], tombstones: [] });
    const evictedAt = await expire(id, "a");
    for (let times = 0; times < 2; times++) {
      await runAlarm(id);
      expect(await rowsOf(id)).toEqual({ variables: ["b", "kept"], tombstones: ["a"] });
      expect(await inStorage(id, ({ sql }) => [...sql.exec("SELECT * FROM chunk")])).toEqual([]);
      expect(await alarmOf(id)).toBe(next);
      for (const rest of ["a", "a/info", "a?path=[0]"]) {
        const { detail, tombstone } = await problemIn(await get(id, rest), "variable_evicted");
        expect(tombstone).toEqual({ name: "a", version: 1, evictedAt, reason: "expired" });
        expect(detail).toContain(evictedAt);
      }
    }
    await expire(id, "b");
    expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
    expect(await rowsOf(id)).toEqual({ variables: ["kept"], tombstones: ["a", "b"] });
    expect(await alarmOf(id)).toBe(idle);
    expect(await put(id, "a", 2)).toMatchObject({ version: 2 });
  });
});

describe("idle", () => {
  // An object with unwritten access times is not evicted until it has written them.
  const DAY_MS = 24 * HOUR_MS;

  /** Reads the body too, because an unread one keeps the object awake. */
  async function stateOf(id: string): Promise<number> {
    const response = await call("GET", `/conversations/${id}`);
    await response.text();
    return response.status;
  }

  describe("a conversation that nobody uses", () => {
    it("is deleted with its messages after thirty days, and no earlier", async () => {
      const id = newId();
      await ask(id, "Weather in NYC?");
      await put(id, "pinned?pin=true", "x".repeat(100_000));
      await (
        await putAs(id, "bytes?pin=true", { body: anyBytes(70_000), type: "image/png" })
      ).text();
      await age(id, limits.conversationIdleMs + spreadMs(id) - HOUR_MS);
      expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
      expect(await stateOf(id)).toBe(200);
      expect(await namesIn(id)).toEqual(["pinned", "bytes"]);
      const due = (await alarmOf(id)) ?? 0;
      expect(due).toBeGreaterThan(Date.now() + HOUR_MS / 2);
      expect(due).toBeLessThanOrEqual(Date.now() + HOUR_MS);
      await age(id, HOUR_MS);
      expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
      expect(await stateOf(id)).toBe(404);
      expect(await tablesOf(id)).toEqual([]);
      expect(await blobsOf(id)).toEqual([]);
      expect(await alarmOf(id)).toBeNull();
    });

    it.each<readonly [string, (id: string) => Promise<unknown>]>([
      ["a turn", (id) => ask(id, "Who are you?")],
      ["a put", (id) => put(id, "b", 1)],
      ["a variable that was put and deleted", (id) => putAndDelete(id)],
      ["a read", (id) => withoutTimers(async () => (await get(id, "pinned")).text())],
      ["a patch", async (id) => (await patch(id, "pinned", { description: "d" })).text()],
    ])("is kept alive by %s", async (_, use) => {
      const id = newId();
      await ask(id, "Who are you?");
      await put(id, "pinned?pin=true", 1);
      await age(id, limits.conversationIdleMs - DAY_MS);
      await use(id);
      await runAlarm(id);
      await age(id, DAY_MS + HOUR_MS);
      expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
      expect(await stateOf(id)).toBe(200);
      expect((await alarmOf(id)) ?? 0).toBeGreaterThan(Date.now());
      await age(id, limits.conversationIdleMs + HOUR_MS);
      expect(await runDurableObjectAlarm(objectOf(id))).toBe(true);
      expect(await stateOf(id)).toBe(404);
    });
  });

  function patch(id: string, name: string, changes: object): Promise<Response> {
    return call("PATCH", `/conversations/${id}/variables/${name}`, json(changes));
  }

  async function putAndDelete(id: string): Promise<void> {
    await put(id, "short", 1);
    expect((await call("DELETE", `/conversations/${id}/variables/short`)).status).toBe(204);
  }
});

describe("clock", () => {
  let startMs = 0;
  beforeEach(() => {
    startMs = Date.now();
    // Once only: stores keep the function that tells the time.
    vi.useFakeTimers({ toFake: ["Date"], now: startMs });
  });
  const DAY_MS = 24 * HOUR_MS;
  const YEAR_MS = 365 * DAY_MS;

  /** Sets the clock to this time after the test's start. */
  function jump(byMs: number): void {
    vi.setSystemTime(startMs + byMs);
  }

  it("a clock that was ahead and is set back deletes nothing early, and what is used again expires as always", async () => {
    jump(YEAR_MS);
    const id = newId();
    await ask(id, "Weather in NYC?");
    await put(id, "used", 1);
    await put(id, "pinned?pin=true", 1);
    jump(0);
    await runAlarm(id);
    expect(await namesIn(id)).toContain("used");
    await put(id, "used", 2);
    await put(id, "pinned?pin=true", 2);
    await ask(id, "Weather in Rome?");
    await evictDurableObject(objectOf(id));
    await runAlarm(id);
    const due = (await alarmOf(id)) ?? 0;
    expect(due).toBeLessThanOrEqual(Date.now() + limits.variableIdleMs + spreadMs(id));
    jump(limits.variableIdleMs + 2 * HOUR_MS);
    await runDurableObjectAlarm(objectOf(id));
    await problemIn(await get(id, "used"), "variable_evicted");
    // What was written ahead of time counts from its own time.
    jump(YEAR_MS + limits.conversationIdleMs + 2 * HOUR_MS);
    await evictDurableObject(objectOf(id));
    await runAlarm(id);
    await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
  });
});
