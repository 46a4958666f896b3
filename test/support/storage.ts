import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { env } from "cloudflare:workers";
import { objectOf } from "./edge.ts";

export const HOUR_MS = 3_600_000;

/** Works on an object's storage, past all that the object knows of it. */
export function inStorage<Result>(
  id: string,
  work: (storage: DurableObjectStorage) => Result | Promise<Result>,
): Promise<Result> {
  return runInDurableObject(objectOf(id), async (_, { storage }) => work(storage));
}

export function alarmOf(id: string): Promise<number | null> {
  return inStorage(id, (storage) => storage.getAlarm());
}

/** Runs the alarm's handler, whether it is due or not. */
export function runAlarm(id: string): Promise<void> {
  return runInDurableObject(objectOf(id), (conversation) => conversation.alarm());
}

/** Lets so much time have passed since anything was done, and the object forget what it had in memory. */
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
 * Reads whose times are written by an alarm alone: with the timer that would write them an object is not
 * evicted, for five seconds.
 */
export async function withoutTimers(reads: () => Promise<unknown>): Promise<void> {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    await reads();
  } finally {
    vi.useRealTimers();
  }
}

/** Refuses statements and rows that contain this text, as a full disk does, until the returned function is called. */
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

/** The rows of a table, none if there is no such table. */
export function rowsIn(id: string, table: string): Promise<Record<string, SqlStorageValue>[]> {
  return inStorage(id, ({ sql }) => {
    const found = sql.exec("SELECT name FROM sqlite_master WHERE name = ?", table).toArray();
    return found.length === 0 ? [] : sql.exec(`SELECT * FROM ${table}`).toArray();
  });
}

/** The tables that are there, the platform's own left out. */
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

/** Keys of the objects in the bucket that belong to a conversation. */
export async function blobsOf(id: string): Promise<readonly string[]> {
  const { objects } = await env.BLOBS.list({ prefix: `${objectOf(id).id}/` });
  return objects.map(({ key }) => key);
}
