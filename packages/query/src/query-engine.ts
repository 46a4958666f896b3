import * as limits from "../../../src/limits.ts";
import type { ColumnCells } from "./column-cells.ts";
import { type ByrefError, type ErrorCode, messageOf } from "../../../src/errors.ts";
import { withTimeLimit } from "../../../src/internal.ts";

export type SqlScalar = string | number | null;

export interface TableShape {
  /** The columns, without the position. */
  readonly columns: readonly string[];
  /** Keys that are another column than SQL takes their names for, with that column. */
  readonly renamed?: readonly (readonly [key: string, column: string])[] | undefined;
  /** What is in the columns, in their order. */
  readonly cells?: readonly ColumnCells[] | undefined;
  /** Columns that are not loaded because there are too many: their number, and the first of their names. */
  readonly omitted?: { readonly count: number; readonly first: readonly string[] } | undefined;
  readonly rows: number;
  /** Characters of its rows as JSON. */
  readonly chars: number;
  /** Characters of the longest row. Default: all. */
  readonly largestRow?: number | undefined;
  /** True if `*` includes the position, too. */
  readonly showsIndex: boolean;
}

/** Rows of a table, in order. The first chunk begins the table, the last one has its shape. */
export interface TableChunk {
  /** The position of its first row. */
  readonly first: number;
  /** A JSON array with one array for each row: its values in the order of the columns; others are null. */
  readonly json: string;
  readonly shape?: TableShape;
}

interface QueryTable {
  /** Identifies the value: the variable, its version, the path. */
  readonly key: string;
  readonly name: string;
  /** What the statement's author calls it. */
  readonly shown: string;
}

/** What the text of a statement says of the columns and rows that it reads. */
export interface StatementFacts {
  /** All names in it, in lower case: its columns have one of these. */
  readonly names: readonly string[];
  readonly texts: readonly string[];
  /** True if columns are used that it does not name. */
  readonly usesAllColumns: boolean;
  /** The most steps of a recursion in it; 1 without any. */
  readonly recursionSteps: number;
  /** True if it reads more than one table, or one more than once. */
  readonly isJoin: boolean;
}

/** One statement that reads, in the engine's form (`rewrite-statement.ts`). */
export interface EngineQuery extends StatementFacts {
  readonly sql: string;
  readonly tables: readonly QueryTable[];
  readonly parameters: readonly string[];
  /** The name of a further column of the first table, with the position. Default: none. */
  readonly position?: string;
  /** Keys of other tables that may stay beside its own. All others are deleted before it runs. */
  readonly kept: readonly string[];
  /** What its aliases mean, in lower case. */
  readonly aliases: readonly (readonly [alias: string, targets: readonly AliasFacts[]])[];
}

/** The target of an alias: a table by its name in the statement, or a part of the statement with its most rows. */
export interface AliasFacts {
  readonly table?: string | undefined;
  readonly maxRows?: number | undefined;
}

/** The outcome of a query as data, because classes of errors do not cross from one object to another. */
export type EngineAnswer =
  /** `records`: a JSON array of objects. `notes` say where they depend on texts that were not read as numbers or NULL. */
  | {
      readonly kind: "done";
      readonly records: string;
      readonly count: number;
      readonly columns: readonly string[];
      readonly notes: readonly string[];
    }
  /** These tables have to be loaded first. */
  | { readonly kind: "missing"; readonly keys: readonly string[] }
  /** SQLite does not accept the statement. `columns`: those of its tables, in their order. */
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly columns: readonly (readonly string[])[];
    }
  | Refused;

/** The error of a statement that does not run, or not to its end. */
export interface Refused extends Pick<ByrefError, "message" | "details"> {
  readonly kind: "refused";
  readonly code: ErrorCode;
}

export function refusalOf({ code, message, details }: Omit<Refused, "kind">): Refused {
  return { kind: "refused", code, message, details };
}

/** The answer to a statement that takes too much work. */
export function tooExpensive(said: string, details: Refused["details"]): Refused {
  return refusalOf({
    code: "query_too_expensive",
    message: `${said} Join on an equality, and filter or aggregate before joining.`,
    details: { maximum: limits.maxQueryVisits, ...details },
  });
}

/** The answer to a query that was ended, because it ran too long. */
export const TOO_LONG: EngineAnswer = tooExpensive(
  "The statement ran longer than it may, and was ended.",
  { scans: [] },
);

/**
 * One database. Runs queries on tables that are loaded into it. It stores nothing else, may forget every table at
 * any time, and keeps nothing that a query writes. A statement may read everything in it: `QueryDatabases` decides
 * what that is. Implementations: a Durable Object (`edge/tables`), `node:sqlite`.
 */
export interface QueryEngine {
  /** Runs the query if all of its tables are loaded. */
  run(query: EngineQuery): Promise<EngineAnswer>;
  /** Adds rows to the table of a key, which is visible once it has its shape. Has no effect if it was deleted meanwhile. */
  add(key: string, chunk: TableChunk): Promise<void>;
  /** Deletes all tables but these, also those that are being loaded. */
  keep(keys: readonly string[]): Promise<void>;
}

type AnyMethod = (...input: readonly unknown[]) => Promise<unknown>;

/** Returns an engine that is somewhere else: `call` calls its methods there, by their names. */
export function engineBehind(
  call: (method: keyof QueryEngine, input: readonly unknown[]) => Promise<unknown>,
): QueryEngine {
  // The engine there has the same methods.
  return {
    run: (query) => call("run", [query]) as Promise<EngineAnswer>,
    add: (key, chunk) => call("add", [key, chunk]) as Promise<void>,
    keep: (keys) => call("keep", [keys]) as Promise<void>,
  };
}

export function callEngine(
  engine: QueryEngine,
  method: keyof QueryEngine,
  input: readonly unknown[],
): Promise<unknown> {
  // The caller has the input from `engineBehind`. A stub of an object has no `apply`.
  const methods = engine as unknown as Readonly<Record<keyof QueryEngine, AnyMethod>>;
  return methods[method](...input);
}

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

/**
 * Runs queries in another object (`tables/tables.ts`). `connect` returns a stub of it, a new one for each call: a stub
 * whose object failed stays broken. `onAdd` is called before rows are written.
 */
export function remoteEngine(connect: () => QueryEngine, onAdd?: () => void): QueryEngine {
  return engineBehind((method, input) => {
    if (method === "add") onAdd?.();
    const answer = withTimeLimit(limits.toolMs, () => callEngine(connect(), method, input));
    // The object was ended by a limit of the platform.
    return answer.catch((error: unknown) => {
      if (method === "run" && ENDED.test(messageOf(error))) return TOO_LONG;
      throw error;
    });
  });
}

/** What the platform says of an object that it has reset, and what `withTimeLimit` says. */
const ENDED = /exceeded (?:its )?(?:CPU|memory)|no answer within/i;
