import type { ErrorCode } from "../errors.ts";

/**
 * A code of the server's, or one of the client's own. `unreachable`: no answer, or not all of it.
 * `unavailable`: status 503. `turn_gone`: another turn has begun since, and what came of this one is in
 * the messages. `bad_answer`: whoever answers does not speak as Byref does.
 */
export type ClientErrorCode =
  | ErrorCode
  | "unreachable"
  | "unavailable"
  | "turn_gone"
  | "bad_answer";

export interface ClientErrorOptions {
  readonly status?: number;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The one error that the client throws; only an aborted signal's reason is thrown as it is. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  /** Of the response; 0 if there was none. */
  readonly status: number;
  /** The problem document, with a plan's `findings` or a guard's `etag`; or the metadata of a failed stream. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ClientErrorCode,
    message: string,
    { status = 0, details = {}, cause }: ClientErrorOptions = {},
  ) {
    super(message, { cause });
    this.name = "ClientError";
    this.code = code;
    this.status = status;
    this.details = details;
  }
}
