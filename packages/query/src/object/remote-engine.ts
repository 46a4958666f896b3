import { messageOf } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import {
  callEngine,
  type EngineAnswer,
  engineBehind,
  type QueryEngine,
  TOO_LONG,
} from "../query-engine.ts";
import { withTimeLimit } from "../../../../src/internal.ts";

/**
 * Runs queries in another object (`tables/tables.ts`). `connect` returns a stub of it, a new one for each call: a stub
 * whose object failed stays broken. `onBegin` is called before a table is loaded.
 */
export function remoteEngine(connect: () => QueryEngine, onBegin?: () => void): QueryEngine {
  return engineBehind((method, input) => {
    if (method === "begin") onBegin?.();
    const answer = withTimeLimit(limits.toolMs, () => callEngine(connect(), method, input));
    return method === "run" ? answer.catch(endedByLimit) : answer;
  });
}

/** What the platform says of an object that it has reset, and what `withTimeLimit` says. */
const ENDED = /exceeded (?:its )?(?:CPU|memory)|no answer within/i;

/** Turns the end of an object by a limit of the platform into an answer. Rethrows any other error. */
function endedByLimit(error: unknown): EngineAnswer {
  if (ENDED.test(messageOf(error))) return TOO_LONG;
  throw error;
}
