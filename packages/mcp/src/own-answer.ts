import { exactNumbers, json } from "../../../src/internal.ts";

/** What is wrong with the answer of a server. */
export type Flaw = "cut off" | "too long" | "malformed";

const FLAW = "byref/flaw";

export interface ErrorAnswer {
  readonly jsonrpc: "2.0";
  readonly id: string | number;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Returns the error that a client receives in place of an answer with a flaw. */
export function ownAnswer(id: string | number, flaw: Flaw, message: string): ErrorAnswer {
  return { jsonrpc: "2.0", id, error: { code: -32_000, message, data: { [FLAW]: flaw } } };
}

/** Returns the flaw that the data of an error names; undefined for an error that a server gave. */
export function flawIn(data: unknown): unknown {
  return json.isObject(data) ? data[FLAW] : undefined;
}

/** Parses a message, with the digits of numbers in values; undefined if it is no JSON. */
export function messageIn(text: string): unknown {
  try {
    return exactNumbers.hasExactNumber(text)
      ? withDigits(exactNumbers.parseExactly(text))
      : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** In the rest of a message, such as schemas, the library needs doubles. */
function withDigits(exact: unknown): unknown {
  const message = exactNumbers.mapExactNumbers(exact, ({ rawJSON }) => Number(rawJSON));
  if (!json.isObject(message) || !json.isObject(exact)) return message;
  const { result, params } = message;
  const structuredContent = json.isObject(exact.result)
    ? exact.result.structuredContent
    : undefined;
  const given = json.isObject(exact.params) ? exact.params.arguments : undefined;
  return {
    ...message,
    ...(structuredContent !== undefined &&
      json.isObject(result) && { result: { ...result, structuredContent } }),
    ...(given !== undefined &&
      json.isObject(params) && { params: { ...params, arguments: given } }),
  };
}

/**
 * Returns the message that a client over HTTP gets in place of this one; undefined if it gets this one: an error for an
 * answer that it would ignore, and structured content also as a text, because the client reads numbers as doubles.
 * `asked` is the id of the only request that it can answer; `change` returns another result, or the same.
 */
export function replacementFor(
  text: string,
  { asked, change = (result) => result }: Replacing = {},
): object | undefined {
  const message = messageIn(text);
  const answer = inPlaceOf(message, asked);
  if (answer !== undefined || !json.isObject(message) || !json.isObject(message.result))
    return answer;
  const result = change(message.result);
  const { structuredContent } = result;
  if (!exactNumbers.holdsExactNumber(structuredContent))
    return result === message.result ? undefined : { ...message, result };
  const meta = {
    ...(json.isObject(result._meta) && result._meta),
    [nameOfDigits()]: JSON.stringify(structuredContent),
  };
  return { ...message, result: { ...result, _meta: meta } };
}

export interface Replacing {
  readonly asked?: number | undefined;
  readonly change?: ChangeResult | undefined;
}

export type ChangeResult = (
  result: Readonly<Record<string, unknown>>,
) => Readonly<Record<string, unknown>>;

/** A name that no server knows: what has it comes from `replacementFor`. A Worker may not make it before a request. */
let digits: string | undefined;

function nameOfDigits(): string {
  return (digits ??= `byref/digits-${crypto.randomUUID()}`);
}

interface StructuredResult {
  readonly structuredContent?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** Returns the result with the digits that `replacementFor` has kept. */
export function restoreDigits<Result extends StructuredResult>(result: Result): Result {
  const { [nameOfDigits()]: text, ..._meta } = result._meta ?? {};
  if (typeof text !== "string") return result;
  return { ...result, _meta, structuredContent: exactNumbers.parseExactly(text) };
}

/**
 * Returns the error in place of an answer that clients would ignore; undefined for any other message. `asked` is the
 * id of the only request that it can answer.
 */
export function inPlaceOf(message: unknown, asked?: number): ErrorAnswer | undefined {
  if (!json.isObject(message) || "method" in message) return undefined;
  const id = asked ?? message.id;
  if (typeof id !== "string" && typeof id !== "number") return undefined;
  const isOther = asked !== undefined && message.id !== asked;
  // Servers that fail may not know the id.
  if (isOther && isError(message.error)) return { jsonrpc: "2.0", id, error: message.error };
  const problem =
    problemOf(message) ?? (isOther ? "it has another id than the request" : undefined);
  if (problem === undefined) return undefined;
  return ownAnswer(id, "malformed", `The answer does not follow MCP: ${problem}.`);
}

function isError(error: unknown): error is ErrorAnswer["error"] {
  return json.isObject(error) && Number.isInteger(error.code) && typeof error.message === "string";
}

function problemOf(message: Readonly<Record<string, unknown>>): string | undefined {
  const { jsonrpc, id: _id, result, error, ...others } = message;
  if (jsonrpc !== "2.0") return `its "jsonrpc" is ${kindOf(jsonrpc)}, not "2.0"`;
  if ("error" in message) {
    if (!json.isObject(error)) return `its "error" is ${kindOf(error)}`;
    if (!Number.isInteger(error.code)) return `the "code" of its error is ${kindOf(error.code)}`;
    if (typeof error.message !== "string")
      return `the "message" of its error is ${kindOf(error.message)}`;
  } else if (!json.isObject(result)) return `its "result" is ${kindOf(result)}`;
  const isBoth = "error" in message && "result" in message;
  if (isBoth) return 'it has a "result" and an "error"';
  return Object.keys(others).length === 0 ? undefined : "it has keys that no answer has";
}

function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return "a text";
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "no whole number";
  return Array.isArray(value) ? "a list" : "an object";
}
