import * as limits from "../../limits.ts";
import { SqlChunks } from "../bytes/chunks.ts";
import { changedEntry, MapLookups, touchedEntries } from "./map-lookups.ts";
import type { Stored } from "../bytes/content.ts";
import type { Entry, Lookups, Row, Rows } from "./rows.ts";
import { SqlGarbage } from "../bytes/garbage.ts";
import { firstRow, hasTable, numberIn, type Sql, type SqlValue, textIn } from "./sql.ts";
import { bodyColumns, storedFrom } from "./stored-columns.ts";
import { SqlVersions } from "./versions.ts";
import { SqlLookups } from "./sql-lookups.ts";
import { columnsOf, infoColumns, infoFrom } from "./variable-columns.ts";
import type { Tombstone, VariableInfo } from "../variable.ts";

const INFO_COLUMNS = [...infoColumns.map(({ column }) => column), "run"].join(", ");
/** The columns without long JSON, because many variables are listed at once. */
const LISTED_COLUMNS = [
  "run",
  ...infoColumns.map(({ column, is }) =>
    is === "json"
      ? `CASE WHEN octet_length(${column}) <= ${limits.maxListedInputBytes} THEN ${column} END AS ${column}`
      : column,
  ),
].join(", ");
const NUMBERS_KEY = "numbers";
/** More than a prompt names. */
const MAX_CACHED = 50;
/** Writes between two checks of whether the table has become large. */
const WRITES_PER_CHECK = 1_024;
/** Rows from which fast scans are worth the row that an index adds to each write. */
const MANY_ROWS = 1_000;
/** Has every column that `SqlLookups` scans by, so that a scan reads no values. */
const SCAN_INDEX = `CREATE INDEX IF NOT EXISTS variable_scan
  ON variable (seq, bytes, run, accessed_at, expires_at, pinned)`;
/** Names in one binding, which is limited to `maxSqlValueBytes`. */
const MAX_NAMES = 10_000;

/** Variables in a conversation's SQLite (schema: `migrations.ts`). A variable that fits into one row takes one. */
export class SqlRows implements Rows {
  readonly chunks: SqlChunks;
  readonly garbage: SqlGarbage;
  readonly versions: SqlVersions;
  readonly #sql: Sql;
  readonly #lookups: SqlLookups;
  /** Answers instead if the newest entries are all. */
  readonly #few = new MapLookups(() => this.#cached);
  /** True while the database is new and empty. Then nothing needs to be read. */
  #isNew: boolean;
  /** The newest entries, which each prompt names. If these are all, lookups need no statement. */
  #newest: Map<string, Entry> | undefined;
  #hasTombstones: boolean | undefined;

  constructor(sql: Sql, isNew = false) {
    this.#isNew = isNew;
    this.#sql = sql;
    this.chunks = new SqlChunks(sql);
    this.garbage = new SqlGarbage(sql);
    this.versions = new SqlVersions(sql, isNew);
    this.#lookups = new SqlLookups(sql, () => this.#cached);
  }

  get find(): Lookups {
    return this.#cached.size < MAX_CACHED ? this.#few : this.#lookups;
  }

  info(name: string): VariableInfo | undefined {
    const row = firstRow(this.#sql, `SELECT ${INFO_COLUMNS} FROM variable WHERE name = ?`, name);
    return row === undefined ? undefined : infoFrom(row);
  }

  listed(names: readonly string[]): readonly VariableInfo[] {
    const infos: VariableInfo[] = [];
    for (let from = 0; from < names.length; from += MAX_NAMES) {
      // Passed as JSON, because a statement accepts only a hundred bindings.
      const rows = this.#sql.all(
        `SELECT ${LISTED_COLUMNS} FROM variable WHERE name IN (SELECT value FROM json_each(?))`,
        JSON.stringify(names.slice(from, from + MAX_NAMES)),
      );
      for (const row of rows) infos.push(infoFrom(row));
    }
    return infos;
  }

  stored(name: string): Stored | undefined {
    const row = firstRow(
      this.#sql,
      `SELECT media_type, bytes, count, marks, location, body_id, value FROM variable WHERE name = ?`,
      name,
    );
    return row === undefined ? undefined : storedFrom(row);
  }

  put({ entry, info, stored }: Row): void {
    const columns: Readonly<Record<string, SqlValue>> = {
      ...columnsOf(info),
      // More precise than the metadata, which has whole milliseconds.
      created_at: entry.createdAtMs,
      accessed_at: entry.accessedAtMs,
      seq: entry.seq,
      run: entry.run ?? null,
      input_digest: entry.inputDigest ?? null,
      ...bodyColumns(stored),
    };
    const names = Object.keys(columns);
    this.#sql.run(
      `INSERT OR REPLACE INTO variable (${names.join(", ")})
       VALUES (${names.map(() => "?").join(", ")})`,
      ...Object.values(columns),
    );
    if (entry.seq % WRITES_PER_CHECK === 0) this.#indexIfLarge();
    this.#cache(entry);
  }

  change(info: VariableInfo): void {
    const columns = columnsOf(info, ({ isChangeable }) => isChangeable === true);
    this.#sql.run(
      `UPDATE variable SET ${Object.keys(columns).join(" = ?, ")} = ? WHERE name = ?`,
      ...Object.values(columns),
      info.name,
    );
    const entry = this.#newest?.get(info.name);
    if (entry !== undefined) this.#newest?.set(info.name, changedEntry(entry, info));
  }

  remove(name: string): void {
    this.#sql.run(`DELETE FROM variable WHERE name = ?`, name);
    this.#uncache(name);
  }

  touch(times: ReadonlyMap<string, number>): void {
    for (const [name, timeMs] of times) {
      this.#sql.run(`UPDATE variable SET accessed_at = ? WHERE name = ?`, timeMs, name);
    }
    const newest = this.#newest;
    if (newest === undefined) return;
    for (const entry of touchedEntries(newest, times)) newest.set(entry.name, entry);
  }

  tombstones(): readonly Tombstone[] {
    this.#hasTombstones ??= hasTable(this.#sql, "tombstone");
    if (!this.#hasTombstones) return [];
    // `addTombstone` wrote these rows. Earlier versions kept inputs of up to `maxRecordBytes`.
    const most = 2 * limits.maxListedInputBytes;
    return this.#sql
      .all(
        `SELECT CASE WHEN octet_length(data) <= ${most} THEN data
           ELSE json_remove(data, '$.input') END AS data FROM tombstone ORDER BY seq`,
      )
      .map((row) => JSON.parse(textIn(row, "data")) as Tombstone);
  }

  addTombstone(tombstone: Tombstone): void {
    if (this.#hasTombstones !== true) {
      this.#sql.run(
        `CREATE TABLE IF NOT EXISTS tombstone
         (seq INTEGER PRIMARY KEY, name TEXT NOT NULL, data TEXT NOT NULL)`,
      );
      this.#hasTombstones = true;
    }
    this.#sql.run(
      `INSERT INTO tombstone (name, data) VALUES (?, ?)`,
      tombstone.name,
      JSON.stringify(tombstone),
    );
  }

  removeTombstone(name: string): void {
    this.#sql.run(`DELETE FROM tombstone WHERE name = ?`, name);
  }

  numbers(): Readonly<Record<string, number>> {
    const row = firstRow(this.#sql, `SELECT value FROM meta WHERE key = ?`, NUMBERS_KEY);
    // `saveNumbers` wrote it.
    return row === undefined ? {} : (JSON.parse(textIn(row, "value")) as Record<string, number>);
  }

  saveNumbers(numbers: Readonly<Record<string, number>>): void {
    this.#sql.run(
      `INSERT INTO meta (key, value) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      NUMBERS_KEY,
      JSON.stringify(numbers),
    );
  }

  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    return this.#sql.transaction<Result>(work);
  }

  forget(): void {
    this.#isNew = false;
    this.#newest = undefined;
    this.#hasTombstones = undefined;
    this.chunks.forget();
    this.garbage.forget();
    this.versions.forget();
  }

  #indexIfLarge(): void {
    const row = firstRow(this.#sql, `SELECT count(*) AS count FROM variable`);
    if (numberIn(row ?? {}, "count") >= MANY_ROWS) this.#sql.run(SCAN_INDEX);
  }

  /** Oldest first. */
  get #cached(): Map<string, Entry> {
    const newest = () => (this.#isNew ? [] : this.#lookups.select(MAX_CACHED));
    this.#newest ??= new Map(newest().map((entry) => [entry.name, entry]));
    return this.#newest;
  }

  #cache(entry: Entry): void {
    const newest = this.#newest;
    if (newest === undefined) return;
    newest.delete(entry.name);
    newest.set(entry.name, entry);
    const [oldest] = newest.keys();
    if (newest.size > MAX_CACHED && oldest !== undefined) newest.delete(oldest);
  }

  #uncache(name: string): void {
    const isAll = this.#newest !== undefined && this.#newest.size < MAX_CACHED;
    // Otherwise another one is now among the newest.
    if (this.#newest?.delete(name) !== true || isAll) return;
    this.#newest = undefined;
    this.#isNew = false;
  }
}
