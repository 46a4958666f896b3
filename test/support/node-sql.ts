import { DatabaseSync, type SQLOutputValue, type StatementSync } from "node:sqlite";
import * as limits from "../../src/limits.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { type Sql, sqlError, type SqlRow, type SqlValue } from "../../src/store/rows/sql.ts";

/** Cloudflare's bounds for one statement. */
const MAX_BINDINGS = 100;
const MAX_STATEMENT_BYTES = 100_000;

/**
 * SQLite in this process, as strict as a Durable Object's in production: what is refused there throws a
 * RangeError here. Not covered: the size of a whole row.
 */
export class NodeSql implements Sql {
  /** How many statements were run, those that begin and end transactions excluded. */
  statements = 0;
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  #depth = 0;

  constructor(path = ":memory:") {
    this.#database = new DatabaseSync(path);
  }

  run(statement: string, ...bindings: readonly SqlValue[]): void {
    const prepared = this.#prepare(statement, bindings);
    try {
      prepared.run(...bindings.map(toBinding));
    } catch (error) {
      throw sqlError(error);
    }
  }

  all(statement: string, ...bindings: readonly SqlValue[]): readonly SqlRow[] {
    const rows = this.#prepare(statement, bindings).all(...bindings.map(toBinding));
    return rows.map((row) => {
      const values = Object.entries(row).map(([column, value]) => [column, fromColumn(value)]);
      return Object.fromEntries(values);
    });
  }

  /** One inside another is a savepoint: if its work throws and the outer catches, only it is undone. */
  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    const point = `point_${this.#depth}`;
    this.#database.exec(`SAVEPOINT ${point}`);
    this.#depth++;
    try {
      const result = work();
      release(this.#database, point);
      return result;
    } catch (error) {
      // Where there is no room left SQLite has undone all of it.
      if (this.#database.isTransaction) {
        this.#database.exec(`ROLLBACK TO ${point}`);
        this.#database.exec(`RELEASE ${point}`);
      }
      throw error;
    } finally {
      this.#depth--;
    }
  }

  /** How many pages of 4 KiB it may have from now on; fewer than there are: as many as there are. */
  limitPages(pages: number): void {
    this.#database.exec(`PRAGMA max_page_count = ${pages}`);
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }

  #prepare(statement: string, bindings: readonly SqlValue[]): StatementSync {
    this.statements++;
    requireAtMost(MAX_STATEMENT_BYTES, Buffer.byteLength(statement), "Bytes of a statement");
    requireAtMost(MAX_BINDINGS, bindings.length, "Bindings of a statement");
    const known = this.#prepared.get(statement);
    if (known !== undefined) return known;
    const prepared = this.#database.prepare(statement);
    this.#prepared.set(statement, prepared);
    return prepared;
  }
}

/** The outermost one writes what waits in memory. */
function release(database: DatabaseSync, point: string): void {
  try {
    database.exec(`RELEASE ${point}`);
  } catch (error) {
    throw sqlError(error);
  }
}

function toBinding(value: SqlValue) {
  requireAtMost(limits.maxSqlValueBytes, bytesOf(value), "Bytes of a bound value");
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value;
}

function fromColumn(value: SQLOutputValue): SqlValue {
  if (typeof value === "bigint") throw new RangeError("An integer is too large for a number.");
  const column = value instanceof Uint8Array ? new Uint8Array(value).buffer : value;
  requireAtMost(limits.maxSqlValueBytes, bytesOf(column), "Bytes of a returned value");
  return column;
}

function bytesOf(value: SqlValue): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  return value instanceof ArrayBuffer ? value.byteLength : 0;
}

function requireAtMost(maximum: number, actual: number, what: string): void {
  if (actual > maximum)
    throw new RangeError(`${what} are at most ${maximum}, these are ${actual}.`);
}

/** With the schema as it is now, and nothing in it. */
export function migratedSql(): NodeSql {
  const sql = new NodeSql();
  migrate(sql);
  return sql;
}
