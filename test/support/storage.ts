import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, vi } from "vitest";
import { env } from "cloudflare:workers";
import { call, messagesOf, namesIn, objectOf, problemIn } from "./edge.ts";
import { eventPage } from "./event-reader.ts";

export const HOUR_MS = 3_600_000;

/** Works on an object's storage directly, without the object's knowledge. */
export function inStorage<Result>(
  id: string,
  work: (storage: DurableObjectStorage) => Result | Promise<Result>,
): Promise<Result> {
  return runInDurableObject(objectOf(id), async (_, { storage }) => work(storage));
}

export function alarmOf(id: string): Promise<number | null> {
  return inStorage(id, (storage) => storage.getAlarm());
}

/** What is added to idle times of at least a day: up to an hour, by the object's id. */
export function spreadMs(id: string): number {
  return Math.round((Number.parseInt(String(objectOf(id).id).slice(0, 8), 16) / 2 ** 32) * HOUR_MS);
}

/** Expects that nothing of the object is left: no row, alarm or object in the bucket. */
export async function expectGone(object: ReturnType<typeof objectOf>): Promise<void> {
  await runInDurableObject(object, (_, { storage }) => expectEmpty(storage));
  expect((await env.BLOBS.list({ prefix: `${object.id}/` })).objects).toEqual([]);
}

export async function expectEmpty(storage: DurableObjectStorage): Promise<void> {
  const tables = storage.sql.exec(
    "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
  );
  expect(tables.toArray()).toEqual([]);
  expect(await storage.getAlarm()).toBeNull();
}

/** Expects that nothing of the conversation is left, whatever is asked. */
export async function expectNothing(id: string): Promise<void> {
  await expectGone(objectOf(id));
  await problemIn(await call("GET", `/conversations/${id}`), "conversation_not_found");
  expect(await messagesOf(id)).toEqual({ messages: [] });
  expect(await namesIn(id)).toEqual([]);
  expect(await eventPage(id)).toEqual({ events: [] });
}

/** Runs the alarm handler, even if it is not due. */
export function runAlarm(id: string): Promise<void> {
  return runInDurableObject(objectOf(id), (conversation) => conversation.alarm());
}

/** Makes the conversation look older by this time, and makes the object forget what is in memory. */
export async function age(id: string, ageMs: number): Promise<void> {
  await inStorage(id, ({ sql }) => {
    sql.exec("UPDATE variable SET accessed_at = accessed_at - ?", ageMs);
    sql.exec("UPDATE message SET created_at = created_at - ?", ageMs);
    sql.exec("UPDATE event SET at = at - ?", ageMs);
    sql.exec("UPDATE meta SET value = value - ? WHERE key = 'created'", ageMs);
  });
  await evictDurableObject(objectOf(id));
}

/**
 * Runs reads without the timer that writes their access times, so that only an alarm writes them. A pending
 * timer prevents the object's eviction for five seconds.
 */
export async function withoutTimers(reads: () => Promise<unknown>): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    await reads();
  } finally {
    vi.useRealTimers();
  }
}

/**
 * Rejects statements and bindings that contain this text, as a full disk does, until the returned function is
 * called.
 */
export function refuseRows({ sql }: DurableObjectStorage, text: string): () => void {
  const { exec } = sql;
  const refusing: typeof exec = (query, ...bindings) => {
    if ([query, ...bindings].some((value) => String(value).includes(text))) {
      throw new Error("database or disk is full: SQLITE_FULL");
    }
    return exec.call(sql, query, ...bindings) as never;
  };
  Object.defineProperty(sql, "exec", { configurable: true, value: refusing });
  return () => Object.defineProperty(sql, "exec", { configurable: true, value: exec });
}

/** Returns the rows of a table; none if the table does not exist. */
export function rowsIn(id: string, table: string): Promise<Record<string, SqlStorageValue>[]> {
  return inStorage(id, ({ sql }) => {
    const found = sql.exec("SELECT name FROM sqlite_master WHERE name = ?", table).toArray();
    return found.length === 0 ? [] : sql.exec(`SELECT * FROM ${table}`).toArray();
  });
}

/** Returns the names of all tables except the platform's own. */
export function tablesOf(id: string): Promise<readonly string[]> {
  return inStorage(id, ({ sql }) =>
    sql
      .exec<{ name: string }>(
        `SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' ORDER BY name`,
      )
      .toArray()
      .map(({ name }) => name),
  );
}

/** Returns the keys of a conversation's objects in the bucket. */
export async function blobsOf(id: string): Promise<readonly string[]> {
  const { objects } = await env.BLOBS.list({ prefix: `${objectOf(id).id}/` });
  return objects.map(({ key }) => key);
}

/** Returns the rows that the object reads while `work` runs. */
export async function rowsReadBy(
  object: DurableObjectStub,
  work: () => Promise<unknown>,
): Promise<number> {
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  const restore = await runInDurableObject(object, (_, { storage: { sql } }) => {
    const { exec } = sql;
    const counting: typeof exec = (query, ...bindings) => {
      const cursor = exec.call(sql, query, ...bindings);
      cursors.push(cursor);
      return cursor as never;
    };
    Object.defineProperty(sql, "exec", { configurable: true, value: counting });
    return () => void Object.defineProperty(sql, "exec", { configurable: true, value: exec });
  });
  await work();
  return runInDurableObject(object, () => {
    restore();
    return cursors.reduce((rows, { rowsRead }) => rows + rowsRead, 0);
  });
}
