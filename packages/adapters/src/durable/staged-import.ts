import { ByrefError } from "../../../../src/errors.ts";
import { sqlRows, type VariableStore } from "../../../../src/internal.ts";
import { readFile } from "../../../transfer/src/transfer-lines.ts";
import { restoreVariable } from "../../../transfer/src/variable-records.ts";
import { SHOWN_TABLE } from "./shown-texts.ts";
import { ALARM_TABLE } from "./sweep-alarm.ts";

/**
 * Imports a file into separate tables, which replace the store's tables when the file is complete. Until then they
 * are not visible. If the process ends, they remain until `clear`. `open` creates and opens the tables with a prefix.
 */
export function stagedImport(
  sql: sqlRows.Sql,
  prefix: string,
  open: (prefix: string) => VariableStore,
) {
  const stagedPrefix = `${prefix}import_`;
  let isRunning = false;
  let isLeft = sqlRows.hasTable(sql, `${stagedPrefix}meta`);
  return {
    /** Returns the time at which `clear` is due, in milliseconds since 1970. */
    dueMs: () => (isRunning ? Date.now() + CLEAR_AFTER_MS : isLeft ? Date.now() : Infinity),
    run,
    /** Deletes what an import left that did not end. */
    clear: async () => {
      if (!isRunning) await clear();
    },
  };

  /**
   * Imports the file into an empty store. Rejects with `bad_import`, `conflict`,
   * `conversation_exists` or the error of a rejected value, and leaves the store as it was.
   */
  async function run(body: ReadableStream<Uint8Array>, store: VariableStore): Promise<void> {
    if (isRunning) {
      await body.cancel();
      throw new ByrefError("conflict", "Another import is under way; try again.");
    }
    isRunning = true;
    try {
      await clear();
      requireEmpty(store);
      const staged = opened();
      await readFile(body, (record, bytes) => restoreVariable(staged, record, bytes));
      await store.sweep();
      sql.transaction(() => replace(store));
      store.forget();
    } catch (error) {
      // Its error is less interesting; what it leaves is cleared by the next sweep.
      await clear().catch(() => undefined);
      throw error;
    } finally {
      isRunning = false;
      if (!body.locked) await body.cancel();
    }
  }

  async function clear(): Promise<void> {
    if (!isLeft) return;
    const staged = opened();
    staged.evictDue(Date.now(), Infinity);
    for (const { name } of staged.list()) staged.delete(name);
    if (!(await staged.sweep())) return;
    sql.transaction(() => {
      for (const table of tablesOf(stagedPrefix)) sql.run(`DROP TABLE ${table}`);
    });
    isLeft = false;
  }

  function opened(): VariableStore {
    isLeft = true;
    return open(stagedPrefix);
  }

  /** Puts the tables of the import in place of the store's. Call it in a transaction. */
  function replace(store: VariableStore): void {
    requireEmpty(store);
    if (store.hasGarbage()) {
      throw new ByrefError("conflict", "A value is being written; try again.");
    }
    const staged = tablesOf(stagedPrefix);
    for (const table of tablesOf(prefix)) {
      const isKept = KEPT_TABLES.some((name) => table === `${prefix}${name}`);
      if (!staged.includes(table) && !isKept) sql.run(`DROP TABLE ${table}`);
    }
    for (const table of staged) {
      sql.run(`ALTER TABLE ${table} RENAME TO ${prefix}${table.slice(stagedPrefix.length)}`);
    }
    isLeft = false;
  }

  function tablesOf(start: string): readonly string[] {
    const rows = sql.all(`SELECT name FROM sqlite_master WHERE type = 'table'`);
    return rows.map((row) => sqlRows.textIn(row, "name")).filter((name) => name.startsWith(start));
  }
}

/** Tables of the object that have no variables: what was shown, and its alarm. */
const KEPT_TABLES = [SHOWN_TABLE, ALARM_TABLE];

/** Time after which an import that the end of the process cut off is cleared. */
export const CLEAR_AFTER_MS = 60_000;

function requireEmpty(store: VariableStore): void {
  if (store.count() === 0) return;
  const message = "This object has variables already; import into another one.";
  throw new ByrefError("conversation_exists", message);
}
