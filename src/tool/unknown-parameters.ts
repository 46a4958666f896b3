import type { JSONSchema7 } from "ai";
import { ByrefError } from "../errors.ts";
import { nearest } from "../reference/near.ts";
import { clip } from "../value/characters.ts";
import { isObject, type Json } from "../value/json.ts";

/** The names of the parameters that a schema declares; undefined if there may be others. */
export function declaredIn(schema: JSONSchema7): ReadonlySet<string> | undefined {
  const { properties, additionalProperties = false } = schema;
  const isOpen = additionalProperties !== false || OPEN.some((keyword) => keyword in schema);
  return properties === undefined || isOpen ? undefined : new Set(Object.keys(properties));
}

const OPEN = ["allOf", "anyOf", "oneOf", "patternProperties", "$ref"];

/**
 * Refuses a parameter that begins with `_` and is not declared: it is a misspelled one of the runtime's, which
 * the tool might ignore. Throws `invalid_tool_input`, whose message has the nearest declared one.
 */
export function requireKnown(input: Json, declared: ReadonlySet<string> | undefined): void {
  if (declared === undefined || !isObject(input)) return;
  const unknown = Object.keys(input).find((key) => key.startsWith("_") && !declared.has(key));
  if (unknown === undefined) return;
  const own = [...declared].filter((key) => key.startsWith("_"));
  const written = unknown.toLowerCase();
  const longer = own.find((key) => key.toLowerCase().startsWith(written));
  const near = longer ?? nearest(unknown, declared)[0];
  const advice = near === undefined ? "" : ` The nearest is ${near}.`;
  const message = `The tool has no parameter ${clip(unknown, MAX_SHOWN_CHARS)}.${advice}`;
  throw new ByrefError("invalid_tool_input", message);
}

const MAX_SHOWN_CHARS = 80;
