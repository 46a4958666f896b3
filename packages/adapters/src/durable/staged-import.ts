import { ByrefError } from "../../../../src/errors.ts";
import { sqlRows, type VariableStore } from "../../../../src/internal.ts";
import { type StoreLine, variablesImport } from "../../../transfer/src/import-variables.ts";
import { readRecords, takeEach } from "../../../transfer/src/transfer-lines.ts";
import { variableRecord } from "../../../transfer/src/variable-records.ts";
import { SHOWN_TABLES } from "./shown-texts.ts";
import { ALARM_TABLE } from "./sweep-alarm.ts";

export interface StagedImportOptions {
  /** The object's database, without a prefix. */
  readonly sql: sqlRows.Sql;
  /** The prefix of the tables that an import replaces. */
  readonly prefix: string;
  /** Opens the store whose tables have a prefix, and creates its tables. */
  readonly open: (prefix: string) => VariableStore;
}

/**
 * Imports a file into separate tables, which replace the store's tables when the file is complete. Until then they
 * are not visible. If the process ends, they remain until `clear`.
 */
export class StagedImport {
  readonly #options: StagedImportOptions;
  readonly #staged: string;
  #isRunning = false;
  #isLeft: boolean;

  constructor(options: StagedImportOptions) {
    this.#options = options;
    this.#staged = `${options.prefix}import_`;
    this.#isLeft = sqlRows.hasTable(options.sql, `${this.#staged}meta`);
  }

  /** Time at which `clear` is due, in milliseconds since 1970. */
  get dueMs(): number {
    if (this.#isRunning) return Date.now() + CLEAR_AFTER_MS;
    return this.#isLeft ? Date.now() : Infinity;
  }

  /**
   * Imports the file into an empty store. Rejects with `bad_import`, `conflict`,
   * `conversation_exists` or the error of a rejected value, and leaves the store as it was.
   */
  async run(body: ReadableStream<Uint8Array>, store: VariableStore): Promise<void> {
    if (this.#isRunning) {
      await body.cancel();
      throw new ByrefError("conflict", "Another import is under way; try again.");
    }
    this.#isRunning = true;
    try {
      await this.#clear();
      requireEmpty(store);
      const records = readRecords<StoreLine>(body, variableRecord);
      const variables = variablesImport(this.#open(), records);
      await takeEach(records, (record) => variables.take(record));
      variables.end();
      await store.sweep();
      this.#options.sql.transaction(() => this.#replace(store));
      store.forget();
    } catch (error) {
      // Its error is less interesting; what it leaves is cleared by the next sweep.
      await this.#clear().catch(() => undefined);
      throw error;
    } finally {
      this.#isRunning = false;
      if (!body.locked) await body.cancel();
    }
  }

  /** Deletes what an import left that did not end. */
  async clear(): Promise<void> {
    if (!this.#isRunning) await this.#clear();
  }

  async #clear(): Promise<void> {
    if (!this.#isLeft) return;
    const staged = this.#open();
    staged.evictDue(Date.now(), Infinity);
    staged.reset(0);
    for (const name of staged.transfer.names()) staged.delete(name);
    if (!(await staged.sweep())) return;
    this.#options.sql.transaction(() => {
      for (const table of this.#tables(this.#staged)) this.#options.sql.run(`DROP TABLE ${table}`);
    });
    this.#isLeft = false;
  }

  #open(): VariableStore {
    this.#isLeft = true;
    return this.#options.open(this.#staged);
  }

  /** Puts the tables of the import in place of the store's. Call it in a transaction. */
  #replace(store: VariableStore): void {
    requireEmpty(store);
    if (store.hasGarbage()) {
      throw new ByrefError("conflict", "A value is being written; try again.");
    }
    const { sql, prefix } = this.#options;
    const staged = this.#tables(this.#staged);
    for (const table of this.#tables(prefix)) {
      const isKept = KEPT_TABLES.some((name) => table === `${prefix}${name}`);
      if (!staged.includes(table) && !isKept) sql.run(`DROP TABLE ${table}`);
    }
    for (const table of staged) {
      sql.run(`ALTER TABLE ${table} RENAME TO ${prefix}${table.slice(this.#staged.length)}`);
    }
    this.#isLeft = false;
  }

  #tables(prefix: string): readonly string[] {
    const rows = this.#options.sql.all(`SELECT name FROM sqlite_master WHERE type = 'table'`);
    return rows.map((row) => sqlRows.textIn(row, "name")).filter((name) => name.startsWith(prefix));
  }
}

/** Tables of the object that have no variables: what was shown, and its alarm. */
const KEPT_TABLES = [...SHOWN_TABLES, ALARM_TABLE];

/** Time after which an import that the end of the process cut off is cleared. */
export const CLEAR_AFTER_MS = 60_000;

function requireEmpty(store: VariableStore): void {
  if (store.count() === 0) return;
  const message = "This object has variables already; import into another one.";
  throw new ByrefError("conversation_exists", message);
}
