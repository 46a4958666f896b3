import type { SqlScalar } from "./query-engine.ts";

/** Rows as SQLite returns them. Bytes are neither texts nor numbers. */
interface QueryRows {
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly unknown[]>;
}

/** The database of an engine. Nothing else may use it. */
export interface QueryDatabase {
  /** Runs one statement. Reads its rows on demand; do not write before all are read. */
  query(statement: string, ...bindings: readonly SqlScalar[]): QueryRows;
  /** Runs the work, then undoes everything that it wrote. */
  undone<Result>(work: () => Result): Result;
}
