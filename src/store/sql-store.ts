import * as limits from "../limits.ts";
import { SqlChunks } from "./bytes/chunks.ts";
import type { Stored, StoredBody } from "./bytes/content.ts";
import type { Entry, KeptGlance, KeptVersion, Row, Rows } from "./rows/rows.ts";
import {
  firstRow,
  numberIn,
  readMeta,
  replaceRow,
  type Sql,
  type SqlRow,
  SqlTable,
  textIn,
  writeMeta,
} from "./rows/sql.ts";
import {
  bodyColumns,
  columnsOf,
  ENTRY_COLUMNS,
  infoColumns,
  infoFrom,
  storedFrom,
} from "./rows/variable-columns.ts";
import { parseExactly } from "../value/exact-number.ts";
import { visibilityIn } from "./labels.ts";
import type { Sources, Tombstone, VariableInfo } from "./variable.ts";
import type { StoreOptions } from "./store-state.ts";
import { VariableStore } from "./variables.ts";

export interface SqlStoreOptions extends StoreOptions {
  /** True if the database is new and empty. */
  readonly isNew?: boolean;
}

/** Variables in SQLite, with large values in a bucket. Call `migrate` first. */
export class SqlStore extends VariableStore {
  constructor(sql: Sql, { isNew = false, ...options }: SqlStoreOptions = {}) {
    super(new SqlRows(sql, isNew), options);
  }
}

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
const COLUMNS = ENTRY_COLUMNS.join(", ");
const ENTRIES = `SELECT json_group_array(json_array(${COLUMNS})) AS entries,
  count(*) AS count, max(name) AS last`;
/** Entries of one statement: 200 bytes each, 4,000 with all that one is made of, and at most 2 MB in SQLite's output. */
const MAX_SELECTED = 400;
/** Names in one binding, which is limited to `maxSqlValueBytes`. */
const MAX_NAMES = 10_000;

/** Variables in a conversation's SQLite (schema: `migrations.ts`). A variable that fits into one row takes one. */
export class SqlRows implements Rows {
  readonly chunks: SqlChunks;
  readonly garbage: SqlGarbage;
  readonly versions: SqlTable<KeptVersion, KeptGlance>;
  readonly tombstones: SqlTable<Tombstone>;
  readonly #sql: Sql;
  /** True while the database is new and empty. Then nothing needs to be read. */
  #isNew: boolean;

  constructor(sql: Sql, isNew = false) {
    this.#isNew = isNew;
    this.#sql = sql;
    this.chunks = new SqlChunks(sql);
    this.garbage = new SqlGarbage(sql);
    this.versions = new SqlTable(sql, "earlier_version", { ...versionFormat, isNew });
    this.tombstones = new SqlTable(sql, "tombstone", tombstoneFormat);
  }

  entries(): readonly Entry[] {
    const entries: Entry[] = [];
    for (let after: string | undefined = this.#isNew ? undefined : ""; after !== undefined;) {
      // As one JSON text, because each row that SQLite returns costs more than its content.
      const row: SqlRow | undefined = firstRow(
        this.#sql,
        `${ENTRIES} FROM (SELECT ${COLUMNS} FROM variable
           WHERE name > ? ORDER BY name LIMIT ${MAX_SELECTED})`,
        after,
      );
      // A conversation that was never written to has no tables.
      if (row === undefined) break;
      entries.push(...(JSON.parse(textIn(row, "entries")) as EntryValues[]).map(entryOf));
      after = numberIn(row, "count") < MAX_SELECTED ? undefined : textIn(row, "last");
    }
    return entries.sort((one, other) => one.seq - other.seq);
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
    replaceRow(this.#sql, "variable", {
      ...columnsOf(info),
      seq: entry.seq,
      run: entry.run ?? null,
      input_digest: entry.inputDigest ?? null,
      ...bodyColumns(stored),
    });
  }

  change(info: VariableInfo): void {
    const columns = columnsOf(info, ({ isChangeable }) => isChangeable === true);
    this.#sql.run(
      `UPDATE variable SET ${Object.keys(columns).join(" = ?, ")} = ? WHERE name = ?`,
      ...Object.values(columns),
      info.name,
    );
  }

  remove(name: string): void {
    this.#sql.run(`DELETE FROM variable WHERE name = ?`, name);
  }

  touch(entries: readonly Entry[]): void {
    for (const { name, accessedAtMs } of entries) {
      this.#sql.run(`UPDATE variable SET accessed_at = ? WHERE name = ?`, accessedAtMs, name);
    }
  }

  numbers(): Readonly<Record<string, number>> {
    // `saveNumbers` wrote it.
    return JSON.parse(readMeta(this.#sql, NUMBERS_KEY) ?? "{}") as Record<string, number>;
  }

  saveNumbers(numbers: Readonly<Record<string, number>>): void {
    writeMeta(this.#sql, NUMBERS_KEY, JSON.stringify(numbers));
  }

  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    return this.#sql.transaction<Result>(work);
  }

  forget(): void {
    this.#isNew = false;
    this.tombstones.forget();
    this.chunks.forget();
    this.garbage.forget();
    this.versions.forget();
  }
}

const glanceFrom = (row: SqlRow): KeptGlance => ({
  name: textIn(row, "name"),
  version: numberIn(row, "version"),
  bytes: numberIn(row, "bytes"),
  isUndone: numberIn(row, "undone") === 1,
});
const bodyFrom = (row: SqlRow): StoredBody => ({
  id: textIn(row, "id"),
  location: textIn(row, "location") === "r2" ? "r2" : "chunks",
});

/** The garbage of a database (`Rows`). */
export class SqlGarbage extends SqlTable<StoredBody> {
  constructor(sql: Sql) {
    super(sql, "garbage", {
      columns: `(id TEXT PRIMARY KEY, location TEXT) WITHOUT ROWID`,
      columnsOf: ({ location }) => ({ location }),
      rowFrom: bodyFrom,
      listed: "*",
      order: "id",
      listedFrom: bodyFrom,
    });
  }
}

const versionFormat = {
  columns: `(name TEXT, version INTEGER, bytes INTEGER NOT NULL, undone INTEGER NOT NULL, media_type TEXT NOT NULL,
    count INTEGER NOT NULL, location TEXT NOT NULL, body_id TEXT, info TEXT NOT NULL, marks TEXT, value,
    PRIMARY KEY (name, version)) WITHOUT ROWID`,
  columnsOf: ({ info, stored, bytes, isUndone }: KeptVersion) => ({
    bytes,
    undone: isUndone ? 1 : 0,
    media_type: stored.mediaType,
    count: stored.count,
    info: JSON.stringify(info),
    ...bodyColumns(stored),
  }),
  rowFrom: (row: SqlRow): KeptVersion => ({
    ...glanceFrom(row),
    // `columnsOf` wrote it.
    info: parseExactly(textIn(row, "info")) as VariableInfo,
    stored: storedFrom(row),
  }),
  listed: "name, version, bytes, undone",
  order: "name, version",
  listedFrom: glanceFrom,
};

// `columnsOf` wrote these rows.
const tombstoneFrom = (row: SqlRow) => parseExactly(textIn(row, "data")) as unknown as Tombstone;
const tombstoneFormat = {
  columns: `(seq INTEGER PRIMARY KEY, name TEXT NOT NULL, data TEXT NOT NULL)`,
  columnsOf: (tombstone: Tombstone) => ({ data: JSON.stringify(tombstone) }),
  rowFrom: tombstoneFrom,
  // Earlier versions kept inputs of up to `maxRecordBytes`.
  listed: `CASE WHEN octet_length(data) <= ${2 * limits.maxListedInputBytes} THEN data
    ELSE json_remove(data, '$.input') END AS data`,
  order: "seq",
  listedFrom: tombstoneFrom,
};

/** The values that `put` wrote, in the order of `ENTRY_COLUMNS`. */
type EntryValues = readonly [
  ...[name: string, seq: number, version: number, type: VariableInfo["type"]],
  ...[bytes: number, chars: number, createdAtMs: number, accessedAtMs: number],
  ...[expiresAtMs: number | null, pinned: number, visibility: string, run: string | null],
  ...[tool: string | null, inputDigest: string | null, madeOf: string | null],
];

function entryOf(values: EntryValues): Entry {
  const [name, seq, version, type, bytes, chars, createdAtMs, accessedAtMs, ...more] = values;
  const [expiresAtMs, pinned, visibility, run, tool, inputDigest, madeOf] = more;
  return {
    name,
    seq,
    version,
    type,
    bytes,
    chars,
    createdAtMs,
    accessedAtMs,
    writtenAccessMs: accessedAtMs,
    expiresAtMs: expiresAtMs ?? undefined,
    pinned: pinned === 1,
    ...visibilityIn(visibility),
    run: run ?? undefined,
    tool: tool ?? undefined,
    inputDigest: inputDigest ?? undefined,
    madeOf: madeOf === null ? undefined : (JSON.parse(madeOf) as Sources),
  };
}
