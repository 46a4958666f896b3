import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JSONSchema7 } from "ai";
import { codeOf } from "../errors.ts";

import type { ResolveOptions } from "../reference/resolve.ts";
import { Content, jsonContent } from "../store/bytes/content.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { takesTextOnly } from "../tool/json-schema.ts";
import { valueOfResult } from "../tool/mcp/result-value.ts";
import { canonicalJson, compact, isObject, type Json, jsonIn, withDoubles } from "../value/json.ts";
import { toJson } from "../value/to-json.ts";
import { decodeUtf8 } from "../value/utf8.ts";

/**
 * Returns the value of a result to save. JSON that the server sent as one text keeps that text, so that it can be
 * passed on as it was received. Throws as `valueOfResult`.
 */
export function savedValue(result: CallToolResult): unknown {
  const value = valueOfResult(result);
  const [only, ...others] = result.content;
  if (value instanceof Content && only?.type === "text") {
    // A lone surrogate is stored as an escape.
    return only.text.isWellFormed() ? withTextKey(value, "") : value;
  }
  if (typeof value === "string" || only?.type !== "text" || others.length > 0) return value;
  try {
    return withText(toJson(value).value, only.text);
  } catch (error) {
    // A value that is too large to store has no text, so that the save reports the error.
    if (codeOf(error) === "limit_exceeded") return value;
    throw error;
  }
}

/** Servers repeat structured content as a text: serialized, or the part of it that is the text. */
function withText(value: Json, text: string): Json | Content {
  const parts = isObject(value) ? Object.entries(value) : [];
  const part = parts.find(([key, inner]) => inner === text && key !== "");
  if (part !== undefined) return withTextKey(jsonContent(value), part[0]);
  const parsed = jsonIn(text);
  // The connection has read the structured content with doubles for all numbers.
  if (parsed === undefined || canonicalJson(withDoubles(parsed)) !== canonicalJson(value)) {
    return value;
  }
  return withTextKey(jsonContent(parsed, text), "");
}

function withTextKey({ about, marks, body, value }: Content, textKey: string): Content {
  return new Content({ about: { ...about, textKey }, marks, body, ...compact({ value }) });
}

/**
 * Finds the text that a variable was read from, for a place in inputs of the schema that takes texts but not its
 * value. Undefined for other places, and for a text that was not kept.
 */
export function textsFor(
  schema: JSONSchema7,
  store: VariableStore,
): NonNullable<ResolveOptions["textFor"]> {
  return async ({ name, path }, value, place) => {
    const isText = path.length === 0 && takesTextOnly(schema, place, value);
    return isText ? textOf(name, value, store) : undefined;
  };
}

/** Returns the text that all of a variable's value was read from, if it was kept. */
export async function textOf(
  name: string,
  value: Json,
  store: Pick<VariableStore, "open">,
): Promise<string | undefined> {
  const stored = store.open(name);
  if (stored === undefined) return undefined;
  try {
    const { textKey, bytes } = stored.info;
    if (textKey === "") return decodeUtf8(await stored.read(0, bytes));
    const text: unknown = textKey !== undefined && isObject(value) ? value[textKey] : undefined;
    return typeof text === "string" ? text : undefined;
  } finally {
    stored.close();
  }
}
