import type { DatabaseSync } from "node:sqlite";
import type { VariableStore } from "../../../../src/internal.ts";
import { QueryDatabases } from "../../../query/src/query-databases.ts";
import {
  engineBehind,
  type QueryDatabase,
  type QueryEngine,
  TOO_LONG,
} from "../../../query/src/query-engine.ts";
import { SqlQueryEngine } from "../../../query/src/sql-query-engine.ts";
import { nodeSqlite } from "./node-sql.ts";
import type { ChildProcess } from "node:child_process";
import * as limits from "../../../../src/limits.ts";

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
  // No statement reads a copy that is not deleted: the next query deletes it first.
  databases.watch(store, () => void databases.clear().catch(() => undefined));
  return databases;
}

/**
 * The file of the process: beside this module in the package, above its chunks, or in the sources. In that order,
 * because Node does not run TypeScript below `node_modules`.
 */
const FILES = ["./query-process.js", "../query-process.js", "./query-process.ts"];

let shared: (() => QueryEngine) | undefined;

/**
 * Runs queries in a SQLite database in memory, in a process that a query which runs too long ends. A program whose
 * bundler has left out `query-process.js` runs them itself. Throws without `node:sqlite`, which Node has from
 * version 22.13 on.
 */
export function nodeQueryEngine(): QueryEngine {
  nodeSqlite();
  const file = queryProcessFile();
  if (file === undefined) return inProcessEngine();
  shared ??= queryProcess(file);
  return shared();
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

/**
 * Returns a function that makes engines in one process, which runs queries one at a time, and ends itself when one takes
 * more than `cpuMs` of CPU: SQLite cannot be interrupted from its own thread. Its tables are lost then, and the next query
 * starts a new process.
 */
export function queryProcess(file: string, cpuMs: number = limits.queryCpuMs): () => QueryEngine {
  let running: ChildProcess | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let engines = 0;
  const unused = new FinalizationRegistry<number>((engine) => {
    if (running?.connected === true) running.send({ engine });
  });
  return () => {
    const engine = ++engines;
    // A killed process ends the query that it ran, and no other: there is one at a time.
    const opened = engineBehind((method, input) => {
      const answer = last.then(() => send({ engine, method, input }));
      last = answer.catch(() => undefined);
      return answer;
    });
    unused.register(opened, engine);
    return opened;
  };

  function send(call: EngineCall): Promise<unknown> {
    const child = (running ??= start());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const onMessage = (reply: EngineReply) => {
      if ("error" in reply) reject(new Error(reply.error));
      else resolve(reply.output);
    };
    // Killed: it took too long, or too much memory.
    const onExit = (_: number | null, signal: string | null) => {
      if (call.method === "run" && signal !== null) resolve(TOO_LONG);
      else reject(new Error("The process of queries has ended. Try again."));
    };
    child.once("message", onMessage);
    child.once("exit", onExit);
    child.once("error", reject);
    // The program may end when no query runs.
    child.ref();
    child.channel?.ref();
    child.send(call);
    return promise.finally(() => {
      child.off("message", onMessage);
      child.off("exit", onExit);
      child.off("error", reject);
      child.unref();
      child.channel?.unref();
    });
  }

  function start(): ChildProcess {
    // No access to the program's settings, such as keys of models.
    // Not imported, because bundlers for other platforms do not know the module.
    const { fork } = process.getBuiltinModule("node:child_process");
    const execArgv = ["--disable-warning=ExperimentalWarning"];
    const options = { serialization: "advanced" as const, env: {}, execArgv };
    const child = fork(file, [String(cpuMs)], options);
    for (const event of ["exit", "disconnect"]) child.once(event, () => forget(child));
    return child;
  }

  function forget(child: ChildProcess): void {
    if (running === child) running = undefined;
  }
}

/** A call of an engine, by its number. Without a method: the engine is no longer used. */
export interface EngineCall {
  readonly engine: number;
  readonly method?: keyof QueryEngine;
  readonly input?: readonly unknown[];
}

export type EngineReply = { readonly output: unknown } | { readonly error: string };
