import * as limits from "../../limits.ts";
import { delay } from "@ai-sdk/provider-utils";
import { ByrefError, codeOf } from "../../errors.ts";
import { compact } from "../../value/json.ts";

/** Delays before the second and the third try. Jitter adds up to a quarter. */
const RETRY_DELAYS_MS = [500, 2_000];
const JITTER = 0.25;

/** Error types and codes of endpoints, and codes of Node and undici. */
const TRANSIENT_CODES =
  /^(?:api_error|overloaded_error|rate_limit_error|rate_limit_exceeded|server_error|internal_server_error|service_unavailable|timeout_error|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EAI_AGAIN|UND_ERR_SOCKET|UND_ERR_(?:HEADERS|BODY|CONNECT)_TIMEOUT)$/u;
/** Matches errors with only a message: from runtimes, from endpoints, and from providers whose stream was cut off. */
const TRANSIENT_MESSAGES =
  /^(?:terminated|fetch failed|failed to fetch|network connection lost\.?|overloaded|overloaded error|model overloaded|internal server error|service unavailable|response stream ended without a finish reason\.)$/iu;
/** Codes for an answer that the endpoint could not read as calls: the model may write the next one better. */
const MALFORMED_CODES = /^(?:tool_use_failed|output_parse_failed)$/u;
/** Errors wrap one another. This bounds the depth. */
const MAX_WRAPPED = 5;

/** An answer without its end. Another try may be complete. */
export class StreamCutOff extends ByrefError {
  readonly isRetryable = true;

  constructor() {
    super("model_failed", "The model's answer broke off before its end.");
  }
}

/**
 * True if the same call may succeed a moment later: overload, rate limits, time-outs, lost connections. False
 * for requests that the endpoint refuses and for unknown errors.
 */
export function isRetryable(error: unknown): boolean {
  if (codeOf(error) === "model_timeout" || isMalformed(error)) return true;
  for (const layer of layersOf(error)) {
    const verdict = verdictOf(layer);
    if (verdict !== undefined) return verdict;
  }
  return false;
}

/** Describes why a try failed: the status of the endpoint's response if there is one, else a code. */
export function failureOf(error: unknown): string {
  const code = codeOf(error);
  if (code !== "internal") return code;
  const status = layersOf(error).map(statusIn).find(isFailedStatus);
  return status === undefined ? "model_failed" : String(status);
}

/** True if the endpoint refused the request as it is: a prompt with other messages may be accepted. */
export function isRefused(error: unknown): boolean {
  if (isMalformed(error)) return false;
  const status = layersOf(error).map(statusIn).find(isFailedStatus);
  return /^(?:400|413|422)$/u.test(String(status));
}

function isMalformed(error: unknown): boolean {
  return layersOf(error).some(({ code }) => MALFORMED_CODES.test(String(code)));
}

/** Milliseconds to wait after try number `tried`, from 1. Undefined if there is no further try. */
export function retryDelayMs(error: unknown, tried: number): number | undefined {
  const defaultMs = RETRY_DELAYS_MS[tried - 1];
  if (defaultMs === undefined || !isRetryable(error)) return undefined;
  const requestedMs = layersOf(error)
    .map(({ responseHeaders }) => retryAfterMs(responseHeaders))
    .find((delayMs) => delayMs !== undefined);
  if (requestedMs !== undefined && requestedMs >= limits.modelSilenceMs)
    return limits.modelSilenceMs;
  // Jitter spreads the retries of calls that failed together.
  return Math.min((requestedMs ?? defaultMs) * (1 + JITTER * Math.random()), limits.modelSilenceMs);
}

/** Waits for `delayMs`. Resolves at once, without an error, when the signal aborts. */
export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  return delay(delayMs, compact({ abortSignal: signal })).catch(() => undefined);
}

type Layer = Readonly<Record<string, unknown>>;

/** The error and the errors that it wraps. A provider's error part contains the endpoint's message. */
function layersOf(error: unknown): readonly Layer[] {
  const layers: Layer[] = [];
  let next: unknown = typeof error === "string" ? { message: error } : error;
  while (isLayer(next) && layers.length < MAX_WRAPPED) {
    layers.push(next);
    const { error: inner, response, data, cause } = next;
    const [answered] = [response, data].flatMap((one) => (isLayer(one) ? (one.error ?? []) : []));
    next = inner ?? answered ?? cause;
  }
  return layers;
}

function isLayer(value: unknown): value is Layer {
  return typeof value === "object" && value !== null;
}

/** True or false if this layer decides, else undefined. */
function verdictOf(layer: Layer): boolean | undefined {
  const { isRetryable, overloaded, retryable, code, type, name, message } = layer;
  // Set by the platform. An overloaded object must not be called again.
  if (overloaded === true) return false;
  if (isRetryable === true || retryable === true) return true;
  const status = statusIn(layer);
  if (status !== undefined) return isPassing(Number(status));
  if (TRANSIENT_CODES.test(String(type)) || TRANSIENT_CODES.test(String(code))) return true;
  if (name === "TimeoutError") return true;
  if (typeof message === "string" && TRANSIENT_MESSAGES.test(message.trim())) return true;
  // An error without a status may still wrap a lost connection.
  return isRetryable === false && layer.cause === undefined ? false : undefined;
}

function statusIn({ statusCode, status_code: snake, status, code }: Layer): unknown {
  return [statusCode, snake, status, code].find(isFailedStatus);
}

function isFailedStatus(value: unknown): boolean {
  return /^[45]\d\d$/u.test(String(value));
}

function isPassing(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/**
 * The delay that a response's headers request, in milliseconds. They give seconds, a date, or, for some
 * endpoints, milliseconds.
 */
function retryAfterMs(headers: unknown): number | undefined {
  if (!isLayer(headers)) return undefined;
  const milliseconds = Number.parseFloat(String(headers["retry-after-ms"]));
  if (milliseconds >= 0) return milliseconds;
  const after = String(headers["retry-after"]);
  const delayMs = /^\s*[\d.]+\s*$/u.test(after)
    ? Number(after) * 1_000
    : Date.parse(after) - Date.now();
  return Number.isNaN(delayMs) ? undefined : Math.max(delayMs, 0);
}
