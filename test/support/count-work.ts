import type { WatchedSql } from "../store/watched-sql.ts";

/** Counters of a piece of work. */
export interface DoneWork {
  /** Characters and bytes read from SQLite. */
  readonly read: number;
  /** Characters and bytes written to SQLite. */
  readonly written: number;
  /** Characters that JSON.stringify wrote. */
  readonly serialized: number;
  /** Characters that JSON.parse read. */
  readonly parsed: number;
  /** Keys, values and entries that were listed, and elements that slices copied. */
  readonly visited: number;
}

/** Counters of reads and writes of SQLite, of one or more databases. */
type Counted = Pick<WatchedSql, "unitsRead" | "unitsWritten">;

/** Counts the work of `work` by wrapping platform functions, so that the measured code is unchanged. */
export async function workOf(sql: Counted, work: () => unknown): Promise<DoneWork> {
  const before = { read: sql.unitsRead, written: sql.unitsWritten };
  const done = { serialized: 0, parsed: 0, visited: 0 };
  const visit = (listed: unknown) => {
    if (Array.isArray(listed)) done.visited += listed.length;
  };
  const restore = [
    watch(JSON, "stringify", (text) => void (done.serialized += String(text).length)),
    watch(JSON, "parse", (_value, [text]) => void (done.parsed += String(text).length)),
    ...["keys", "values", "entries"].map((name) => watch(Object, name, visit)),
    watch(Array.prototype, "slice", visit),
  ];
  try {
    await work();
  } finally {
    for (const put of restore) put();
  }
  const read = sql.unitsRead - before.read;
  return { ...done, read, written: sql.unitsWritten - before.written };
}

/**
 * Calls `told` with the result and arguments of each call, and does not store them as a spy would. Returns a
 * function that stops it.
 */
function watch(
  owner: object,
  name: string,
  told: (result: unknown, given: readonly unknown[]) => void,
): () => void {
  const property = Reflect.getOwnPropertyDescriptor(owner, name);
  const original: unknown = property?.value;
  if (property === undefined || typeof original !== "function") throw new Error(`No ${name}.`);
  const watched = function watched(this: unknown, ...given: unknown[]): unknown {
    const result: unknown = Reflect.apply(original, this, given);
    told(result, given);
    return result;
  };
  Reflect.defineProperty(owner, name, { ...property, value: watched });
  return () => void Reflect.defineProperty(owner, name, property);
}
