import * as limits from "../../limits.ts";
import type { QueryEngine } from "../../tool/query/query-engine.ts";
import { withTimeLimit } from "../../value/deadline.ts";

/**
 * Runs queries in another object (`tables/tables.ts`). `connect` returns a stub of it, a new one for each call: a stub
 * whose object failed stays broken. `onBegin` is called before a table is loaded.
 */
export function remoteEngine(connect: () => QueryEngine, onBegin?: () => void): QueryEngine {
  const call = <Result>(use: (tables: QueryEngine) => Promise<Result>) =>
    withTimeLimit(limits.toolMs, () => use(connect()));
  return {
    run: (query) => call((tables) => tables.run(query)),
    begin: (key) => {
      onBegin?.();
      return call((tables) => tables.begin(key));
    },
    add: (table, chunk) => call((tables) => tables.add(table, chunk)),
    complete: (table, shape) => call((tables) => tables.complete(table, shape)),
    keep: (keys) => call((tables) => tables.keep(keys)),
  };
}
