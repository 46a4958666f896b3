import type { ErrorCode } from "../../../../src/errors.ts";

/**
 * A code from the server, or one of the client's own. `unreachable`: no response, or an incomplete one.
 * `unavailable`: status 503, or 502 and 504 of a proxy. `turn_gone`: another turn has begun since; the result
 * of this one is in the messages. `bad_answer`: the response is not in Byref's format.
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

/** The only error that the client throws, except for the reason of an aborted signal, which is thrown unchanged. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  /** Status of the response; 0 if there was none. */
  readonly status: number;
  /** The problem document, with a plan's `findings` or a guard's `etag`, or the metadata of a failed stream. */
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
