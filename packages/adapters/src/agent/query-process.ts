/** The process of `process-query-engine.ts`: runs queries in SQLite, and may be killed at any time. */
import * as limits from "../../../../src/limits.ts";
import type { QueryEngine } from "../../../../src/tool/query/query-engine.ts";
import { inProcessEngine } from "./node-query-engine.ts";

/** A call of an engine, by its number. Without a method: the engine is no longer used. */
export interface EngineCall {
  readonly engine: number;
  readonly method?: keyof QueryEngine;
  readonly input?: readonly unknown[];
}

const engines = new Map<number, QueryEngine>();
let idle: NodeJS.Timeout | undefined;

process.on("message", ({ engine: number, method, input = [] }: EngineCall) => {
  clearTimeout(idle);
  idle = setTimeout(() => process.exit(), limits.queryIdleMs);
  if (method === undefined) {
    engines.delete(number);
    return;
  }
  const engine = engines.get(number) ?? inProcessEngine();
  engines.set(number, engine);
  const run = engine[method] as (...all: readonly unknown[]) => Promise<unknown>;
  run.apply(engine, [...input]).then(
    (output) => process.send?.({ output }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
// The program that started it has ended.
process.on("disconnect", () => process.exit());
