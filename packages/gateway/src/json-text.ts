import type { CallToolResult } from "@modelcontextprotocol/server";
import type { JSONSchema7 } from "ai";
import { codeOf } from "../../../src/errors.ts";

import { valueOfResult } from "./servers/result-value.ts";
import type { Json, ResolveOptions } from "../../../src/references.ts";
import {
  encoding,
  exactNumbers,
  json,
  toJson,
  type VariableStore,
  contents,
} from "../../../src/internal.ts";
import { jsonSchemas } from "../../../src/internal-tool.ts";

/**
 * Returns the value of a result to save. JSON that the server sent as one text keeps that text, so that it can be
 * passed on as it was received. Structured content that breaks a limit for JSON is its text. Throws as `valueOfResult`.
 */
export function savedValue(result: CallToolResult): unknown {
  const value = valueOfResult(result);
  const [only, ...others] = result.content;
  if (value instanceof contents.Content && only?.type === "text") {
    // A lone surrogate is stored as an escape.
    return only.text.isWellFormed() ? withTextKey(value, "") : value;
  }
  if (typeof value === "string" || value !== result.structuredContent) return value;
  const text = only?.type === "text" && others.length === 0 ? only.text : undefined;
  try {
    const converted = toJson(value).value;
    return text === undefined ? converted : withText(converted, text);
  } catch (error) {
    if (codeOf(error) !== "limit_exceeded") throw error;
    // The tool has run: what breaks a limit for JSON is kept as text.
    return text ?? JSON.stringify(value);
  }
}

/** Returns the value of a failure to save: all that the server said. Throws as `savedValue`. */
export function savedFailure(failure: CallToolResult): unknown {
  const { content, structuredContent } = failure;
  const value = savedValue(failure);
  // Content has both: the text repeats what is structured.
  if (structuredContent === undefined || value instanceof contents.Content) return value;
  const said = { content, structuredContent };
  return typeof value === "string" ? JSON.stringify(said) : said;
}

/** Servers repeat structured content as a text: serialized, or the part of it that is the text. */
function withText(value: Json, text: string): Json | contents.Content {
  const parts = json.isObject(value) ? Object.entries(value) : [];
  const part = parts.find(([key, inner]) => inner === text && key !== "");
  if (part !== undefined) return withTextKey(contents.jsonContent(value), part[0]);
  const parsed = json.jsonIn(text);
  // A connection over HTTP has read the structured content with doubles for all numbers.
  const rounded = (one: Json) => json.canonicalJson(toDoubles(one));
  if (parsed === undefined || rounded(parsed) !== rounded(value)) return value;
  return withTextKey(contents.jsonContent(parsed, text), "");
}

function withTextKey(content: contents.Content, textKey: string): contents.Content {
  return new contents.Content({ ...content, about: { ...content.about, textKey } });
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
    const isText = path.length === 0 && jsonSchemas.takesTextOnly(schema, place, value);
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
    if (textKey === "") return encoding.decodeUtf8(await stored.read(0, bytes));
    const text: unknown =
      textKey !== undefined && json.isObject(value) ? value[textKey] : undefined;
    return typeof text === "string" ? text : undefined;
  } finally {
    stored.close();
  }
}

function toDoubles(value: Json): Json {
  return exactNumbers.mapExactNumbers(value, ({ rawJSON }) => Number(rawJSON)) as Json;
}
