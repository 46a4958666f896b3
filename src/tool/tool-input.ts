import { asSchema, type ToolSet } from "ai";
import { ByrefError, messageOf } from "../errors.ts";
import type { Unresolved } from "../reference/expand.ts";
import type { Json } from "../value/json.ts";

const MAX_ISSUE_CHARS = 1_000;

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
  const said = messageOf(result.error).slice(0, MAX_ISSUE_CHARS);
  const hint = options.unresolved.map(({ message }) => ` ${message ?? ""}`).join("");
  throw new ByrefError("invalid_tool_input", `The input does not fit the tool: ${said}${hint}`, {
    unresolved: options.unresolved,
  });
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

/** SHA-256 of the input as JSON with sorted keys, 32 hexadecimal digits of it. */
export async function digestOf(input: Json): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(input, sortedKeys));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
