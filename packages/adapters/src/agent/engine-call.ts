import type { EngineAnswer, QueryEngine } from "../../../query/src/query-engine.ts";

/** A call of an engine, by its number. Without a method: the engine is no longer used. */
export interface EngineCall {
  readonly engine: number;
  readonly method?: keyof QueryEngine;
  readonly input?: readonly unknown[];
}

/** The answer to a query that was ended. */
export const TOO_LONG: EngineAnswer = { kind: "expensive", scans: [] };

/** `isLast`: the process ends, because the call took too long. */
export type EngineReply = { readonly isLast?: boolean } & (
  | { readonly output: unknown }
  | { readonly error: string }
);
