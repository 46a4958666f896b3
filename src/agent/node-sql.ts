import type * as sqlite from "node:sqlite";
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { type Sql, sqlError, type SqlRow, type SqlValue } from "../store/rows/sql.ts";

export function hasNodeSqlite(): boolean {
  return found() !== undefined;
}

/** Node's SQLite. Throws in Workers and in Node before 22.13, which do not have it. */
export function nodeSqlite(): typeof sqlite {
  const module = found();
  if (module === undefined) throw new Error("This needs node:sqlite: Node 22.13 or newer.");
  return module;
}

function found(): typeof sqlite | undefined {
  // Workers have a module of this name whose classes cannot be used.
  if ("WebSocketPair" in globalThis) return undefined;
  // Not imported, because bundlers for other platforms do not know the module.
  return globalThis.process?.getBuiltinModule?.("node:sqlite");
}

/** A database of Node's SQLite. */
export class NodeSql implements Sql {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  #depth = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  run(statement: string, ...bindings: readonly SqlValue[]): void {
    const prepared = this.#prepare(statement);
    try {
      prepared.run(...bindings.map(toBinding));
    } catch (error) {
      throw sqlError(error);
    }
  }

  all(statement: string, ...bindings: readonly SqlValue[]): readonly SqlRow[] {
    const rows = this.#prepare(statement).all(...bindings.map(toBinding));
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
      this.#release(point);
      return result;
    } catch (error) {
      // If there is no room left, SQLite has undone all of it.
      if (this.#database.isTransaction) {
        this.#database.exec(`ROLLBACK TO ${point}`);
        this.#database.exec(`RELEASE ${point}`);
      }
      throw error;
    } finally {
      this.#depth--;
    }
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }

  /** The outermost one writes what is in memory. */
  #release(point: string): void {
    try {
      this.#database.exec(`RELEASE ${point}`);
    } catch (error) {
      throw sqlError(error);
    }
  }

  #prepare(statement: string): StatementSync {
    const known = this.#prepared.get(statement);
    if (known !== undefined) return known;
    const prepared = this.#database.prepare(statement);
    this.#prepared.set(statement, prepared);
    return prepared;
  }
}

function toBinding(value: SqlValue) {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value;
}

function fromColumn(value: SQLOutputValue): SqlValue {
  if (typeof value === "bigint") throw new RangeError("An integer is too large for a number.");
  return value instanceof Uint8Array ? new Uint8Array(value).buffer : value;
}
