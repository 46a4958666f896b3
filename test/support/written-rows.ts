import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import type { Cost } from "../../src/turn/spend/spend.ts";
import { objectOf } from "./edge.ts";

/**
 * Counts from now on what an object writes, as the platform counts it, whatever code writes it. Returns a
 * function that reads the count and resets it. Ends when the object is evicted.
 */
export async function watchRows(id: string): Promise<() => Cost> {
  return runInDurableObject(objectOf(id), (_, { storage }) => watchStorage(storage));
}

export function watchStorage(storage: DurableObjectStorage): () => Cost {
  let cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  const { sql } = storage;
  const exec = sql.exec.bind(sql);
  const watched = vi.spyOn(sql, "exec").mockImplementation((...parameters) => {
    const cursor = exec(...parameters);
    cursors.push(cursor);
    return cursor;
  });
  vi.spyOn(storage, "sql", "get").mockReturnValue(sql);
  const setAlarm = vi.spyOn(storage, "setAlarm");
  return () => {
    if (!vi.isMockFunction(watched)) throw new Error("Nothing is watched.");
    const alarms = setAlarm.mock.calls.length;
    const rowsRead = cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0);
    const rows = cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0);
    cursors = [];
    setAlarm.mockClear();
    return { rowsRead, rowsWritten: rows + alarms, alarms };
  };
}
