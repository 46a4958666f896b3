import { nodeQueryEngine } from "../../adapters/src/agent/node-query-engine.ts";
import { wholeReference } from "../../../src/reference/reference.ts";
import { pickSyntaxes } from "../../../src/reference/syntaxes.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { QueryDatabases } from "../src/query-databases.ts";
import type { QueryEngine } from "../src/query-engine.ts";
import { type QueryResult, runQuery } from "../src/run-query.ts";
import { anyValueAt } from "../../../src/tool/variables/sequence.ts";
import { readable } from "../../../src/tool/variables/variable-target.ts";
import type { Json } from "../../../src/value/json.ts";

/** Runs the queries of a person in Node's SQLite. */
export class Queries {
  readonly store = new MemoryStore();
  /** Number of finished queries. `loads` counts started tables, `valuesRead` the reads of values or parts. */
  read = 0;
  loads = 0;
  valuesRead = 0;
  /** What the parts of variables are read as. Default: what they are. */
  readAs: Json | undefined;
  readonly #databases = new QueryDatabases(() => {
    const engine: QueryEngine = nodeQueryEngine();
    const { add } = engine;
    engine.add = (key, chunk) => {
      if (chunk.first === 0) this.loads++;
      return add.call(engine, key, chunk);
    };
    return engine;
  });

  async records(sql: string): Promise<Json> {
    const { records } = await this.result(sql);
    return JSON.parse(records) as Json;
  }

  async result(sql: string): Promise<QueryResult> {
    const syntaxes = pickSyntaxes();
    const result = await runQuery(sql, {
      store: this.store,
      databases: this.#databases,
      most: "visible",
      syntaxes,
      read: async (store, target) => {
        this.valuesRead++;
        return this.readAs ?? anyValueAt(store, target);
      },
      table: ({ name }) => readable(this.store, name),
      parameter: async (source) => {
        const reference = wholeReference(source, syntaxes)?.reference;
        if (reference === undefined || this.store.glance(reference.name) === undefined)
          return undefined;
        return anyValueAt(this.store, reference);
      },
    });
    this.read++;
    return result;
  }
}
