import { wholeReference } from "../../../src/reference/reference.ts";
import { pickSyntaxes } from "../../../src/reference/syntaxes.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { QueryDatabases } from "../src/query-databases.ts";
import type { EngineQuery, QueryEngine } from "../src/query-engine.ts";
import { type QueryResult, runQuery } from "../src/run-query.ts";
import { anyValueAt } from "../../../src/tool/variables/sequence.ts";
import { readable } from "../../../src/tool/variables/variable-target.ts";
import type { Json } from "../../../src/value/json.ts";

type Access = Parameters<typeof runQuery>[1];

/** What a model's statement without references may read. */
export const accessTo = (
  store: MemoryStore,
  databases: QueryDatabases,
  more: Partial<Access> = {},
): Access => ({
  store,
  databases,
  most: "visible",
  syntaxes: [],
  read: anyValueAt,
  table: ({ name }) => readable(store, name),
  parameter: () => Promise.resolve(undefined),
  ...more,
});

/** A query as an engine receives it. */
export const engineQuery = (sql: string, more: Partial<EngineQuery> = {}): EngineQuery => ({
  sql,
  tables: [],
  kept: [],
  parameters: [],
  aliases: [],
  names: [],
  texts: [],
  usesAllColumns: true,
  recursionSteps: 1,
  isJoin: false,
  ...more,
});

/** Runs queries in an engine, and counts what they read. */
export class Queries {
  readonly store = new MemoryStore();
  /** Number of finished queries. `loads` counts started tables, `valuesRead` the reads of values or parts. */
  read = 0;
  loads = 0;
  valuesRead = 0;
  /** What the parts of variables are read as. Default: what they are. */
  readAs: Json | undefined;
  readonly #databases: QueryDatabases;

  constructor(make: () => QueryEngine) {
    this.#databases = new QueryDatabases(() => {
      const engine = make();
      const { add } = engine;
      engine.add = (key, chunk) => {
        if (chunk.first === 0) this.loads++;
        return add.call(engine, key, chunk);
      };
      return engine;
    });
  }

  async records(sql: string): Promise<Json> {
    const { records } = await this.result(sql);
    return JSON.parse(records) as Json;
  }

  async result(sql: string): Promise<QueryResult> {
    const syntaxes = pickSyntaxes();
    const access = accessTo(this.store, this.#databases, {
      syntaxes,
      read: async (store, target) => {
        this.valuesRead++;
        return this.readAs ?? anyValueAt(store, target);
      },
      parameter: async (source) => {
        const reference = wholeReference(source, syntaxes)?.reference;
        if (reference === undefined || this.store.glance(reference.name) === undefined)
          return undefined;
        return anyValueAt(this.store, reference);
      },
    });
    const result = await runQuery(sql, access);
    this.read++;
    return result;
  }
}
