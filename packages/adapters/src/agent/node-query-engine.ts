import type { DatabaseSync } from "node:sqlite";
import type { VariableStore } from "../../../../src/internal.ts";
import { QueryDatabases } from "../../../query/src/query-databases.ts";
import type { QueryDatabase } from "../../../query/src/query-database.ts";
import type { QueryEngine } from "../../../query/src/query-engine.ts";
import { SqlQueryEngine } from "../../../query/src/sql-query-engine.ts";
import { nodeSqlite } from "./node-sql.ts";
import { QueryProcess } from "./process-query-engine.ts";

/** The limits of SQLite in a Durable Object, so that a statement has the same result here. */
const DURABLE_OBJECT_LIMITS = {
  length: 4_000_000,
  sqlLength: 100_000,
  column: 100,
  exprDepth: 100,
  compoundSelect: 5,
  vdbeOp: 25_000,
  functionArg: 127,
  likePatternLength: 50,
  variableNumber: 100,
};

/** Runs the queries over one store in databases in memory. Throws as `nodeQueryEngine` does. */
export function nodeQueryDatabases(store: VariableStore): QueryDatabases {
  nodeSqlite();
  const databases = new QueryDatabases(nodeQueryEngine);
  // No statement reads a copy that is not purged: the next query deletes it first.
  databases.watch(store, () => void databases.purge().catch(() => undefined));
  return databases;
}

/**
 * The file of the process: beside this module in the package, above its chunks, or in the sources. In that order,
 * because Node does not run TypeScript below `node_modules`.
 */
const FILES = ["./query-process.js", "../query-process.js", "./query-process.ts"];

let shared: QueryProcess | undefined;

/**
 * Runs queries in a SQLite database in memory, in a process that a query which runs too long ends. A program whose
 * bundler has left out `query-process.js` runs them itself. Throws without `node:sqlite`, which Node has from
 * version 22.13 on.
 */
export function nodeQueryEngine(): QueryEngine {
  nodeSqlite();
  const file = queryProcessFile();
  if (file === undefined) return inProcessEngine();
  shared ??= new QueryProcess(file);
  return shared.engine();
}

/** Undefined if a bundler has left the file out. */
function queryProcessFile(): string | undefined {
  const { existsSync } = process.getBuiltinModule("node:fs");
  const { fileURLToPath } = process.getBuiltinModule("node:url");
  const urls = FILES.flatMap((path) => URL.parse(path, import.meta.url) ?? []);
  const files = urls.filter(({ protocol }) => protocol === "file:");
  return files.map(({ href }) => fileURLToPath(href)).find((path) => existsSync(path));
}

/** Runs queries in this process, where nothing ends one. Throws without `node:sqlite`, which Node has from version 22.13 on. */
export function inProcessEngine(): QueryEngine {
  const { DatabaseSync } = nodeSqlite();
  const database = new DatabaseSync(":memory:", { enableDoubleQuotedStringLiterals: true });
  // Older versions cannot set limits, and have higher ones.
  if ("limits" in database) Object.assign(database.limits as object, DURABLE_OBJECT_LIMITS);
  database.exec("PRAGMA secure_delete = ON");
  return new SqlQueryEngine(databaseOf(database));
}

function databaseOf(database: DatabaseSync): QueryDatabase {
  return {
    query(statement, ...bindings) {
      const prepared = database.prepare(statement);
      prepared.setReturnArrays(true);
      prepared.setReadBigInts(true);
      const columns = prepared.columns().map(({ name }) => name);
      // Arrays, by the setting above.
      const rows = prepared.iterate(...bindings) as unknown as Iterable<readonly unknown[]>;
      return { columns, rows };
    },
    undone(work) {
      database.exec("BEGIN");
      try {
        return work();
      } finally {
        // SQLite has already done so if a statement ran out of memory.
        if (database.isTransaction) database.exec("ROLLBACK");
      }
    },
  };
}
