import { SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { messageOf } from "../errors.ts";
import { isObject } from "../value/json.ts";

/** True if a server refused a request because it does not know the session any more. It has not run. */
export function isLostSession(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  // Servers disagree about the status.
  return error.status === 404 || (error.status === 400 && /session/iu.test(error.message));
}

/** True for a request that failed in the network. */
export function isUnreachable(error: unknown): error is TypeError {
  return error instanceof TypeError && error.message === "fetch failed";
}

/** True if the server may have acted on the request although it gave no answer. */
export function mayHaveRun(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status >= 500;
  if (error instanceof SdkError) return WITHOUT_ANSWER.has(error.code);
  if (!isUnreachable(error)) return false;
  const code = isObject(error.cause) ? error.cause.code : undefined;
  return !NOT_SENT.has(code);
}

const WITHOUT_ANSWER: ReadonlySet<unknown> = new Set([
  SdkErrorCode.RequestTimeout,
  SdkErrorCode.ConnectionClosed,
]);
const NOT_SENT: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/** True for the library's report that it has given up reading from a server. Answers will not arrive. */
export function isGivenUp({ message }: Error): boolean {
  return message.startsWith("Maximum reconnection attempts");
}

/** Says as a sentence why a server did not answer. `waitedMs`: the time in all, if not that of the last request. */
export function reasonOf(error: unknown, waitedMs?: number): string {
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    const ms = waitedMs ?? (isObject(error.data) ? error.data.timeout : undefined);
    const time = typeof ms === "number" ? ` within ${Math.round(ms / 1_000)} s` : " in time";
    return `It gave no answer${time}.`;
  }
  const reason = messageOf(error);
  return /[.!?…)\]}]$/u.test(reason) ? reason : `${reason}.`;
}
