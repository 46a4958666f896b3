import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  type Transport,
} from "@modelcontextprotocol/client";
import { messageOf } from "../../../../src/errors.ts";
import { flawIn } from "./mcp-fetch.ts";
import { json } from "../../../../src/internal.ts";
import { redactTexts } from "./secrets.ts";

/**
 * True if a server refused a request because it does not know the session any more; or, after a repeated greeting,
 * because it has changed since. The request has not run.
 */
export function isLostSession(error: unknown, isRepeated: boolean): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  // Servers disagree about the status.
  const isLost = error.status === 400 && (isRepeated || /session/iu.test(error.message));
  return isLost || error.status === 404;
}

export function isUnreachable(error: unknown): error is TypeError {
  return error instanceof TypeError && error.message === "fetch failed";
}

/** True for a request whose connection was lost before the answer. */
export function isCutOff(error: unknown): boolean {
  if (error instanceof ProtocolError) return flawIn(error.data) === "cut off";
  if (error instanceof SdkError) return error.code === SdkErrorCode.ConnectionClosed;
  // While the answer was read, or before.
  if (error instanceof TypeError && error.message === "terminated") return true;
  return isUnreachable(error) && mayHaveRun(error);
}

/** True if the server may have acted on the request although it gave no answer. */
export function mayHaveRun(error: unknown): boolean {
  if (error instanceof SdkHttpError) return error.status >= 500;
  if (error instanceof SdkError) return WITHOUT_ANSWER.has(error.code);
  if (!isUnreachable(error)) return isCutOff(error);
  const code = json.isObject(error.cause) ? error.cause.code : undefined;
  return !NOT_SENT.has(code);
}

const WITHOUT_ANSWER: ReadonlySet<unknown> = new Set([
  SdkErrorCode.RequestTimeout,
  SdkErrorCode.ConnectionClosed,
]);
const NOT_SENT: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/** True for the library's report that a server's answers will not arrive. */
export function isGivenUp(error: Error): boolean {
  // After that, a server of 2024-11-05 does not know the session any more.
  return error instanceof SseError || error.message.startsWith("Maximum reconnection attempts");
}

/** Says as a sentence why a server did not answer. `waitedMs`: the time in all, if not that of the last request. */
export function reasonOf(error: unknown, waitedMs?: number): string {
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    const ms = waitedMs ?? (json.isObject(error.data) ? error.data.timeout : undefined);
    const time = typeof ms === "number" ? ` within ${Math.round(ms / 1_000)} s` : " in time";
    return `It gave no answer${time}.`;
  }
  // The server's own words.
  if (error instanceof ProtocolError) return sentence(messageOf(error));
  if (isMalformed(error)) {
    const [, method] = /^Invalid result for ([\w/]+)/u.exec(error.message) ?? [];
    return `The answer${method === undefined ? "" : ` to ${method}`} does not follow MCP.`;
  }
  const reason = sentence(messageOf(withoutPage(textOf(error))));
  return UNAUTHORIZED.test(reason) ? `${reason.replace(/\)$/u, ").")} ${NEEDS_TOKEN}` : reason;
}

/** True for the report of a validator, which is no sentence. */
function isMalformed(error: unknown): error is Error {
  if (error instanceof SdkError) return error.code === SdkErrorCode.InvalidResult;
  return error instanceof Error && "issues" in error;
}

function sentence(text: string): string {
  return /[.!?…)\]}]$/u.test(text) ? text : `${text}.`;
}

/** As the libraries write the status of a response. */
const UNAUTHORIZED = /^HTTP 401\b|\(HTTP 401\)|status code \(401\)/u;
const NEEDS_TOKEN = 'A token belongs into "headers" of the server: {"Authorization": "Bearer …"}.';

/** The response, or the message with the network error, which "fetch failed" does not repeat. */
function textOf(error: unknown): string {
  if (error instanceof SdkHttpError) {
    const { status, statusText = "", data, message } = error;
    const text = typeof data.text === "string" ? data.text : message;
    return `HTTP ${status} ${statusText}`.trim() + (text && `: ${text}`);
  }
  const message = error instanceof Error ? error.message : messageOf(error);
  return message.endsWith("fetch failed") ? [message, ...causesOf(error)].join(": ") : message;
}

function causesOf(error: unknown): readonly string[] {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause === undefined) return [];
  // One error for each address of a host has no message of its own.
  const isMany = cause instanceof AggregateError && cause.message === "";
  const text = isMany ? cause.errors.map(messageOf).join(", ") : messageOf(cause);
  return [...(text === "fetch failed" ? [] : [text]), ...causesOf(cause)];
}

/** A page is no sentence. */
function withoutPage(text: string): string {
  return text.replace(/(?:^|:)\s*<(?:!doctype html|html|head|body|title|h1|center)\b.*$/isu, "");
}

/** The code and data of an error as its server gave them. The library changes some. */
class GivenError {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, data: unknown) {
    this.code = code;
    this.data = data;
  }

  toJSON(): unknown {
    return this.data;
  }
}

/** Keeps what servers give in errors. Call it when the transport is connected: the library reads errors before. */
export function keepReceivedErrors(transport: Transport | undefined): void {
  const receive = transport?.onmessage;
  if (transport === undefined || receive === undefined) return;
  transport.onmessage = (message, extra) => {
    if (!("error" in message) || flawIn(message.error.data) !== undefined)
      return receive(message, extra);
    const { code, data } = message.error;
    const error = { ...message.error, data: new GivenError(code, data) };
    return receive({ ...message, error }, extra);
  };
}

/** Sends the codes that servers gave, for versions that do not prescribe others. Call it before the connection. */
export function keepSentCodes(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const given = "error" in message ? message.error.data : undefined;
    if (!("error" in message) || !(given instanceof GivenError)) return send(message, options);
    const { code, data } = given;
    const error = { code, message: message.error.message, ...(data !== undefined && { data }) };
    return send({ ...message, error }, options);
  };
}

/** Returns an error as its server gave it, without secrets; undefined for any other error. */
export function givenError(
  error: unknown,
  redact: (text: string) => string,
): ProtocolError | undefined {
  if (!(error instanceof ProtocolError) || !(error.data instanceof GivenError)) return undefined;
  const { message } = error;
  const { code, data } = error.data;
  // A person reads its addresses, and opens them.
  const isQuestion = code === ProtocolErrorCode.UrlElicitationRequired;
  const shown = isQuestion ? { message, data } : redactTexts(redact, { message, data });
  return new ProtocolError(code, shown.message, new GivenError(code, shown.data));
}
