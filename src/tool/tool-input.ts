import { asSchema, type ToolSet } from "ai";
import { ByrefError } from "../errors.ts";
import type { Unresolved } from "../reference/expand.ts";
import { clip } from "../value/characters.ts";
import { canonicalJson, isObject, type Json, parsedJson } from "../value/json.ts";

const MAX_ISSUES = 10;
const MAX_ISSUE_CHARS = 200;

/**
 * The resolved input as the tool's own schema gives it: defaults filled in, and nothing of it shared with
 * a stored value unless `readonly`. Throws `invalid_tool_input`, which names references that stayed
 * unresolved, for they are the likely cause.
 */
export async function checkInput(
  tool: Pick<ToolSet[string], "inputSchema">,
  input: Json,
  options: { readonly unresolved: readonly Unresolved[]; readonly readonly: boolean },
): Promise<unknown> {
  const { validate } = asSchema(tool.inputSchema);
  const result =
    validate === undefined ? { success: true as const, value: input } : await validate(input);
  if (result.success) return options.readonly ? result.value : thawed(result.value);
  const said = issuesIn(result.error);
  const hint = options.unresolved.map(({ message }) => ` ${message ?? ""}`).join("");
  throw new ByrefError("invalid_tool_input", `The input does not fit the tool: ${said}${hint}`, {
    unresolved: options.unresolved,
  });
}

/**
 * What a validator says is wrong: places and messages only. Its error's own message may hold the value
 * that it refused, which nobody may be shown.
 */
function issuesIn(error: unknown): string {
  const said = issuesOf(error).map(
    ({ path, message }) => `${path.length === 0 ? "it" : path.join(".")}: ${message}`,
  );
  return said.length === 0 ? "its schema refuses it." : `${said.join("; ")}.`;
}

/** A place that a validator refuses, and what it says of it. */
export interface Issue {
  readonly path: readonly string[];
  readonly message: string;
}

/** The first of what a validator's error lists; none if it lists nothing. */
export function issuesOf(error: unknown): readonly Issue[] {
  const issues =
    issueListIn(error) ?? (isObject(error) ? issueListIn(error.cause) : undefined) ?? [];
  return issues.slice(0, MAX_ISSUES).flatMap((issue) => {
    if (!isObject(issue) || typeof issue.message !== "string") return [];
    const path = Array.isArray(issue.path) ? issue.path.map(keyOf) : [];
    return [{ path, message: clip(issue.message, MAX_ISSUE_CHARS) }];
  });
}

function issueListIn(error: unknown): readonly unknown[] | undefined {
  if (Array.isArray(error)) return error;
  return isObject(error) && Array.isArray(error.issues) ? error.issues : undefined;
}

/** Standard Schema lets a path's step be the key itself or an object that holds it. */
function keyOf(step: unknown): string {
  return String(isObject(step) ? step.key : step);
}

/**
 * Stored values and the model's own words are frozen, because others hold them too. A schema's copy is
 * used as it is; only what it let through uncopied is copied here (decision 0005). Cost: linear.
 */
function thawed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Object.isFrozen(value)) return isPlain(value) ? structuredClone(value) : value;
  if (!isPlain(value)) return value;
  for (const [key, inner] of Object.entries(value)) {
    const own = thawed(inner);
    if (own !== inner) Reflect.defineProperty(value, key, { ...OWN_PROPERTY, value: own });
  }
  return value;
}

const OWN_PROPERTY = { configurable: true, enumerable: true, writable: true };

function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

/** Sorting the keys of large data costs more than a second name for the same call. */
const MAX_SORTED_CHARS = 65_536;

/**
 * SHA-256 of the input as JSON, keys sorted if it is small; 32 hexadecimal digits of it. Bytes in it count
 * as what they hold.
 */
export async function digestOf(input: Json): Promise<string> {
  const text = JSON.stringify(input, bytesAsText);
  const isSmall = text.length <= MAX_SORTED_CHARS;
  const bytes = new TextEncoder().encode(isSmall ? canonicalJson(parsedJson(text)) : text);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytesAsText(_key: string, value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value;
  let text = "";
  for (const byte of value) text += String.fromCharCode(byte);
  return text;
}
