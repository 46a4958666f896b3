import { DatabaseSync } from "node:sqlite";
import { NodeSql as AnyNodeSql } from "../../packages/adapters/src/agent/node-sql.ts";
import * as limits from "../../src/limits.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import type { SqlRow, SqlValue } from "../../src/store/rows/sql.ts";

/** Cloudflare's limits for one statement. */
const MAX_BINDINGS = 100;
const MAX_STATEMENT_BYTES = 100_000;

/**
 * SQLite in this process, as strict as a Durable Object's in production: throws a RangeError for what
 * production refuses. Does not check the size of a whole row.
 */
export class NodeSql extends AnyNodeSql {
  /** Number of statements run, except those that begin and end transactions. */
  statements = 0;
  readonly #database: DatabaseSync;

  constructor(path = ":memory:") {
    const database = new DatabaseSync(path);
    super(database);
    this.#database = database;
  }

  override run(statement: string, ...bindings: readonly SqlValue[]): void {
    this.#check(statement, bindings);
    super.run(statement, ...bindings);
  }

  override all(statement: string, ...bindings: readonly SqlValue[]): readonly SqlRow[] {
    this.#check(statement, bindings);
    const rows = super.all(statement, ...bindings);
    for (const value of rows.flatMap((row) => Object.values(row))) {
      requireAtMost(limits.maxSqlValueBytes, bytesOf(value), "Bytes of a returned value");
    }
    return rows;
  }

  /** Limits the database to this many pages of 4 KiB, or to its current size if that is larger. */
  limitPages(pages: number): void {
    this.#database.exec(`PRAGMA max_page_count = ${pages}`);
  }

  #check(statement: string, bindings: readonly SqlValue[]): void {
    this.statements++;
    requireAtMost(MAX_STATEMENT_BYTES, Buffer.byteLength(statement), "Bytes of a statement");
    requireAtMost(MAX_BINDINGS, bindings.length, "Bindings of a statement");
    for (const value of bindings) {
      requireAtMost(limits.maxSqlValueBytes, bytesOf(value), "Bytes of a bound value");
    }
  }
}

function bytesOf(value: SqlValue): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  return value instanceof ArrayBuffer ? value.byteLength : 0;
}

function requireAtMost(maximum: number, actual: number, what: string): void {
  if (actual > maximum)
    throw new RangeError(`${what} are at most ${maximum}, these are ${actual}.`);
}

/** Returns an empty database with the current schema. */
export function migratedSql(): NodeSql {
  const sql = new NodeSql();
  migrate(sql);
  return sql;
}
