import type { QueryEngine } from "../../../query/src/query-engine.ts";

/** A call of an engine, by its number. Without a method: the engine is no longer used. */
export interface EngineCall {
  readonly engine: number;
  readonly method?: keyof QueryEngine;
  readonly input?: readonly unknown[];
}

/** `isLast`: the process ends, because the call took too long. */
export type EngineReply = { readonly isLast?: boolean } & (
  | { readonly output: unknown }
  | { readonly error: string }
);

/** Calls a method of an engine by its name. */
export function callEngine(
  engine: QueryEngine,
  method: keyof QueryEngine,
  input: readonly unknown[],
): Promise<unknown> {
  // Written by another process of ours.
  const run = engine[method] as (...all: readonly unknown[]) => Promise<unknown>;
  return run.apply(engine, [...input]);
}
