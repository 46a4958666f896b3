import * as limits from "./limits.ts";

/** Failures that a caller, a model or a person can meet: a stable code, its HTTP status, its title. */
export const errorCodes = {
  bad_request: { status: 400, title: "The request is malformed" },
  bad_json: { status: 400, title: "The body is not JSON" },
  bad_name: { status: 400, title: "The variable name is not valid, or is read-only" },
  bad_path: { status: 400, title: "The path is not valid" },
  bad_alternatives: { status: 400, title: "The alternatives are malformed" },
  bad_value: { status: 422, title: "The value cannot be saved" },
  bad_configuration: { status: 500, title: "The configuration is not valid" },
  not_configured: { status: 501, title: "The Worker is not configured for this" },
  unauthorized: { status: 401, title: "Authentication is required" },
  unavailable: { status: 503, title: "A service that is needed does not answer" },
  foreign_origin: { status: 403, title: "The Host or the Origin is not allowed" },
  not_found: { status: 404, title: "Not found" },
  unsupported_media_type: { status: 415, title: "The content type is not supported" },
  body_timeout: { status: 408, title: "The body took too long" },
  body_too_large: { status: 413, title: "The body is too large" },
  conversation_not_found: { status: 404, title: "There is no such conversation" },
  conversation_exists: { status: 409, title: "The conversation already exists" },
  bad_import: { status: 422, title: "The file is not a conversation that can be imported" },
  variable_not_found: { status: 404, title: "There is no such variable" },
  variable_evicted: { status: 410, title: "The variable has been evicted" },
  variable_secret: { status: 403, title: "The variable is secret" },
  variable_sealed: { status: 403, title: "The variable is sealed" },
  precondition_failed: { status: 412, title: "The precondition failed" },
  reference_in_url: { status: 422, title: "The reference is part of a URL" },
  number_not_exact: { status: 422, title: "A JavaScript number would change the number" },
  path_not_found: { status: 404, title: "The path does not exist in the value" },
  range_not_satisfiable: { status: 416, title: "The range is outside the value" },
  conflict: { status: 409, title: "A concurrent change conflicts with this one" },
  edit_not_found: { status: 404, title: "The place to edit does not exist" },
  edit_ambiguous: { status: 409, title: "The place to edit is not the only one" },
  edit_conflict: { status: 409, title: "The edit does not fit the value" },
  limit_exceeded: { status: 422, title: "A limit is exceeded" },
  bad_query: { status: 400, title: "The query is not valid" },
  query_not_allowed: { status: 403, title: "The query is not allowed" },
  query_too_expensive: { status: 422, title: "The query is too expensive" },
  not_queryable: { status: 422, title: "The variable is not a table" },
  invalid_tool_input: { status: 422, title: "The tool's input is not valid" },
  unknown_tool: { status: 422, title: "There is no such tool" },
  tool_denied: { status: 403, title: "The tool is not allowed" },
  server_unavailable: { status: 502, title: "A server does not answer" },
  tool_failed: { status: 500, title: "The tool failed" },
  tool_timeout: { status: 504, title: "The tool took too long" },
  model_failed: { status: 502, title: "The model failed" },
  model_timeout: { status: 504, title: "The model took too long" },
  approval_required: { status: 403, title: "A person has to approve the call" },
  approval_not_found: { status: 404, title: "There is no such pending approval" },
  invalid_plan: { status: 422, title: "The plan or its input is not valid" },
  plan_not_approved: { status: 409, title: "The plan is not approved, or was cancelled" },
  skipped: { status: 424, title: "The call did not run" },
  outcome_unknown: { status: 409, title: "Whether the tool ran is unknown" },
  turn_timeout: { status: 504, title: "The turn or run took too long" },
  turn_failed: { status: 500, title: "The turn could not be finished" },
  storage_full: { status: 507, title: "The conversation's storage is full" },
  idempotency_mismatch: { status: 422, title: "The Idempotency-Key was used for another request" },
  turn_stopped: { status: 409, title: "The turn was stopped" },
  spend_exceeded: { status: 429, title: "The spend limit is reached" },
  rate_limited: { status: 429, title: "Too many requests" },
  internal: { status: 500, title: "An internal error occurred" },
} as const satisfies Record<string, { status: number; title: string }>;

/** A stable error code that programs can rely on. */
export type ErrorCode = keyof typeof errorCodes;

/** Returns a text in at most `limits.maxReasonChars`: its start, and its end, which says what to do. */
function excerptOf(text: string): string {
  if (text.length <= limits.maxReasonChars) return text;
  const skipped = `… (+${text.length - START_CHARS - END_CHARS} more) …`;
  return (text.slice(0, START_CHARS) + skipped + text.slice(-END_CHARS)).toWellFormed();
}

const START_CHARS = 700;
const END_CHARS = 250;

/** Shortens each text and key. */
function excerptsIn(value: unknown): unknown {
  if (typeof value === "string") return excerptOf(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(excerptsIn);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [excerptOf(key), excerptsIn(inner)]),
  );
}

/**
 * The error that Byref throws. `code` is stable and survives RPC between the Worker and a Durable Object, where
 * `instanceof` does not work: test `code`. `message` explains what to do. `details` is JSON. Both
 * may quote any text: a long one is shortened here.
 */
export class ByrefError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(excerptOf(message));
    this.name = "ByrefError";
    this.code = code;
    this.details = excerptsIn(details) as typeof details;
  }
}

/** A limit of `limits.ts`: the name of its constant, as errors report it. */
export type LimitName = Exclude<keyof typeof limits, "lease">;

export const maxima: Readonly<Record<LimitName, number>> = limits;

/** A limit; a name with its maximum where that depends on something. */
export type Bound = LimitName | readonly [limit: string, maximum: number];

/** Creates the error for an exceeded limit. It names the limit, its maximum and the actual size. */
export function limitExceeded(
  limit: string,
  sizes: { maximum: number; actual: number; advice: string },
) {
  const { maximum, actual, advice } = sizes;
  return new ByrefError(
    "limit_exceeded",
    `${limit} is at most ${maximum}, this is ${actual}. ${advice}`,
    { limit, maximum, actual },
  );
}

/** Throws `limit_exceeded` if `actual` exceeds the maximum. */
export function requireAtMost(bound: Bound, actual: number, advice: string): void {
  const [limit, maximum] = typeof bound === "string" ? [bound, maxima[bound]] : bound;
  if (actual > maximum) throw limitExceeded(limit, { maximum, actual, advice });
}

/** Returns the code of anything thrown, also by another isolate; `internal` if it has no known code. */
export function codeOf(error: unknown): ErrorCode {
  const code = propertyOf(error, "code");
  return typeof code === "string" && Object.hasOwn(errorCodes, code)
    ? (code as ErrorCode)
    : "internal";
}

/**
 * Returns the error code at the start of a text. Without a known code, returns `tool_failed`: a provider's
 * own tool may report any text.
 */
export function codeIn(text: string): ErrorCode {
  const [code = ""] = text.split(":");
  return Object.hasOwn(errorCodes, code) ? (code as ErrorCode) : "tool_failed";
}

/** Returns the result of the work. If it throws, throws the error that `errorFor` makes of the reason. */
export function failingAs<Result>(
  work: () => Result,
  errorFor: (reason: string) => unknown,
): Result {
  try {
    return work();
  } catch (error) {
    throw errorFor(messageOf(error));
  }
}

/** Returns the message of anything thrown, in at most `limits.maxReasonChars`. Never empty. */
export function messageOf(error: unknown): string {
  const message = typeof error === "string" ? error : propertyOf(error, "message");
  if (typeof message === "string" && message !== "") return excerptOf(message);
  return excerptOf(serialized(error) ?? "Unknown error");
}

function serialized(thrown: unknown): string | undefined {
  try {
    const text = JSON.stringify(thrown);
    return text === "{}" ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Returns a message that is safe to show to anyone. For an `internal` error it reveals only that an error occurred. */
export function publicMessageOf(error: unknown): string {
  return codeOf(error) === "internal" ? errorCodes.internal.title : messageOf(error);
}

/** The public part of an error. Only limit errors have `details`: `limit`, `maximum`, `actual`. */
export interface PublicError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: ByrefError["details"];
}

export function publicErrorOf(error: unknown): PublicError {
  const summary = { code: codeOf(error), message: publicMessageOf(error) };
  const isLimitError = error instanceof ByrefError && "maximum" in error.details;
  return isLimitError ? { ...summary, details: error.details } : summary;
}

/** The limit that a limit error names: a name in `limits.ts`, or `scope.what` for a spend limit. */
export function limitOf({ details }: Pick<PublicError, "details">): string | undefined {
  return typeof details?.limit === "string" ? details.limit : undefined;
}

/** Returns the text of a turn's error part and of an error frame. */
export function publicTextOf(error: unknown): string {
  return `${codeOf(error)}: ${publicMessageOf(error)}`;
}

/** Reads a property of any thrown value, including a Proxy that throws when it is read. */
function propertyOf(thrown: unknown, name: "code" | "message"): unknown {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  try {
    return Reflect.get(thrown, name);
  } catch {
    return undefined;
  }
}
