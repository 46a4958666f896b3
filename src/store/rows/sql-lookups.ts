import type { Call, Entry, Lookups, Totals } from "./rows.ts";
import { firstRow, numberIn, optionalNumberIn, type Sql, type SqlValue, textIn } from "./sql.ts";
import { visibilityIn } from "../labels.ts";
import type { VariableInfo } from "../variable.ts";

/** The columns of an `Entry`, in the order of `EntryValues`. */
export const ENTRY_COLUMNS = (
  "name seq version type bytes chars created_at accessed_at expires_at pinned visibility run tool " +
  "input_digest"
).split(" ");
const COLUMNS = ENTRY_COLUMNS.join(", ");
/** Selects entries as one JSON text, because each row that SQLite returns costs more than its content. */
const ENTRIES = `SELECT json_group_array(json_array(${COLUMNS}))`;
/** Entries of one statement: about 200 bytes each, and at most 2 MB in SQLite's output. */
const MAX_SELECTED = 500;
/** Rows of the first step of a scan, which may end early. */
const FIRST_LIMIT = 20;

/**
 * Finds entries in the table of variables. Its only key is the name, because a second index writes another row
 * with every variable; other lookups scan the table, which takes a tenth of a millisecond for a thousand rows,
 * because the columns they need come first. A large table has an index for the scans (`SqlRows`). Name ranges
 * have no upper bound in SQL, because SQLite would read whole rows to compare it.
 */
export class SqlLookups implements Lookups {
  readonly #sql: Sql;
  readonly #cached: () => ReadonlyMap<string, Entry>;

  /** `cached`: the newest entries, oldest first. */
  constructor(sql: Sql, cached: () => ReadonlyMap<string, Entry>) {
    this.#sql = sql;
    this.#cached = cached;
  }

  entry(name: string): Entry | undefined {
    return this.#cached().get(name) ?? this.#select(`WHERE name = ?`, name)[0];
  }

  newest(limit: number): readonly Entry[] {
    const cached = this.#cached();
    if (limit <= cached.size) return [...cached.values()].slice(cached.size - limit);
    return limit <= MAX_SELECTED ? this.select(limit) : this.#scan("", "true").slice(-limit);
  }

  /** Returns the newest entries, oldest first, at most `MAX_SELECTED`, from the table. */
  select(limit: number): readonly Entry[] {
    return this.#select(`ORDER BY seq DESC LIMIT ?`, limit).toReversed();
  }

  following(seq: number, limit: number): readonly Entry[] {
    if (limit > MAX_SELECTED) return this.#scan("", "seq > ?", seq).slice(0, limit);
    return this.#select(`WHERE seq > ? ORDER BY seq LIMIT ?`, seq, limit);
  }

  dueBy(nowMs: number, idleMs: number): readonly Entry[] {
    return this.#scan(
      "",
      `NOT pinned AND (expires_at <= ? OR accessed_at + ? <= ?)`,
      nowMs,
      idleMs,
      nowMs,
    );
  }

  nextDueMs(idleMs: number, except: ReadonlySet<string>): number {
    // Tested for each row.
    const others = except.size === 0 ? "" : "AND name NOT IN (SELECT value FROM json_each(?))";
    const row = firstRow(
      this.#sql,
      `SELECT min(expires_at) AS expires, min(accessed_at) AS accessed FROM variable
       WHERE NOT pinned ${others}`,
      ...(except.size === 0 ? [] : [JSON.stringify([...except])]),
    );
    const earliest = (column: string) => optionalNumberIn(row ?? {}, column) ?? Infinity;
    return Math.min(earliest("expires"), earliest("accessed") + idleMs);
  }

  ofRuns(): readonly Entry[] {
    return this.#scan("", `run IS NOT NULL`);
  }

  ofCall(prefix: string, { tool, inputDigest }: Call): readonly Entry[] {
    return this.#scan(prefix, `tool = ? AND input_digest = ?`, tool, inputDigest);
  }

  totals(): Totals {
    const row = firstRow(
      this.#sql,
      `SELECT count(*) AS count, sum(bytes) AS bytes, count(run) AS ofRuns,
         max(accessed_at) AS lastAccessMs, max(seq) AS newestSeq FROM variable`,
    );
    const number = (column: string) => numberIn(row ?? {}, column);
    return {
      count: number("count"),
      bytes: number("bytes"),
      ofRuns: number("ofRuns"),
      lastAccessMs: number("lastAccessMs"),
      newestSeq: number("newestSeq"),
    };
  }

  highestNumber(base: string): number {
    const start = `${base}_`;
    const row = firstRow(
      this.#sql,
      `SELECT max(CAST(substr(name, ?) AS INTEGER)) AS highest FROM variable
       WHERE name >= ? AND +name GLOB ? AND name NOT GLOB ? AND length(name) < ?`,
      start.length + 1,
      start,
      `${start}[0-9]*`,
      `${start}*[^0-9]*`,
      start.length + 10,
    );
    return Number(row?.["highest"] ?? -1);
  }

  couldBegin(prefix: string): boolean {
    const next = `SELECT name FROM variable WHERE name >= ? ORDER BY name LIMIT 1`;
    return this.#sql.all(next, prefix).some((row) => textIn(row, "name").startsWith(prefix));
  }

  #select(which: string, ...bindings: readonly SqlValue[]): readonly Entry[] {
    return this.#sql
      .all(`${ENTRIES} AS entries FROM (SELECT ${COLUMNS} FROM variable ${which})`, ...bindings)
      .flatMap(({ entries }) => entriesIn(entries));
  }

  /** Scans by name, from the prefix to the first name without it. Returns the matches oldest first. */
  #scan(prefix: string, where: string, ...bindings: readonly SqlValue[]): readonly Entry[] {
    const found: Entry[] = [];
    for (let [from, limit] = [prefix, FIRST_LIMIT]; ; limit = MAX_SELECTED) {
      const [row = {}] = this.#sql.all(
        `${ENTRIES} FILTER (WHERE ${where}) AS entries, count(*) AS count, max(name) AS last
         FROM (SELECT ${COLUMNS} FROM variable WHERE name >= ? ORDER BY name LIMIT ?)`,
        ...bindings,
        from,
        limit,
      );
      found.push(...entriesIn(row["entries"]));
      const last = textIn(row, "last");
      if (numberIn(row, "count") < limit || !last.startsWith(prefix)) break;
      // Sorts before every other name that follows.
      from = `${last}!`;
    }
    return found.sort((one, other) => one.seq - other.seq);
  }
}

/** The values that `SqlRows.put` wrote, in the order of `ENTRY_COLUMNS`. */
type EntryValues = readonly [
  name: string,
  seq: number,
  version: number,
  type: VariableInfo["type"],
  bytes: number,
  chars: number,
  createdAtMs: number,
  accessedAtMs: number,
  expiresAtMs: number | null,
  pinned: number,
  visibility: string,
  run: string | null,
  tool: string | null,
  inputDigest: string | null,
];

function entriesIn(json: SqlValue | undefined): readonly Entry[] {
  return typeof json === "string" ? (JSON.parse(json) as EntryValues[]).map(entryOf) : [];
}

function entryOf(values: EntryValues): Entry {
  const [name, seq, version, type, bytes, chars, createdAtMs, accessedAtMs, ...more] = values;
  const [expiresAtMs, pinned, visibility, run, tool, inputDigest] = more;
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
  };
}
