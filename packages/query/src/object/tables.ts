import { DurableObject } from "cloudflare:workers";
import * as limits from "../../../../src/limits.ts";
import type {
  EngineAnswer,
  EngineQuery,
  QueryDatabase,
  QueryEngine,
  SqlScalar,
  TableChunk,
} from "../query-engine.ts";
import { SqlQueryEngine } from "../sql-query-engine.ts";

/**
 * One of the databases of a conversation's queries (`QueryDatabases`), so that none of them can read, change or stop
 * the conversation itself. It stores copies of values as tables, and drops them an hour after the last query. It can be lost at any time.
 */
export class TablesObject extends DurableObject implements QueryEngine {
  readonly #storage: DurableObjectStorage;
  #engine: SqlQueryEngine;
  #usedMs = 0;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.#storage = state.storage;
    this.#engine = new SqlQueryEngine(databaseIn(state.storage));
  }

  async run(query: EngineQuery): Promise<EngineAnswer> {
    this.#usedMs = Date.now();
    if (query.tables.length > 0) await this.#setAlarm();
    return this.#engine.run(query);
  }

  add(key: string, chunk: TableChunk): Promise<void> {
    return this.#engine.add(key, chunk);
  }

  keep(keys: readonly string[]): Promise<void> {
    return keys.length === 0 ? this.#dropAll() : this.#engine.keep(keys);
  }

  /** Drops the tables, unless there was a query meanwhile. */
  override async alarm(): Promise<void> {
    if (Date.now() < this.#usedMs + limits.idleMs) await this.#setAlarm();
    else await this.#dropAll();
  }

  async #setAlarm(): Promise<void> {
    if ((await this.#storage.getAlarm()) !== null) return;
    await this.#storage.setAlarm(Math.max(this.#usedMs, Date.now()) + limits.idleMs);
  }

  async #dropAll(): Promise<void> {
    this.#engine = new SqlQueryEngine(databaseIn(this.#storage));
    await this.#storage.deleteAll();
  }
}

function databaseIn(storage: DurableObjectStorage): QueryDatabase {
  return {
    query(statement, ...bindings: readonly SqlScalar[]) {
      const cursor = storage.sql.exec(statement, ...bindings);
      return { columns: cursor.columnNames, rows: { [Symbol.iterator]: () => cursor.raw() } };
    },
    undone<Result>(work: () => Result): Result {
      let done: { readonly result: Result } | undefined;
      try {
        storage.transactionSync(() => {
          done = { result: work() };
          throw UNDO;
        });
      } catch (error) {
        if (error !== UNDO) throw error;
      }
      if (done === undefined) throw UNDO;
      return done.result;
    },
  };
}

const UNDO = new Error("undone");
