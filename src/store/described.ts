import { limitExceeded } from "../errors.ts";
import { limits } from "../limits.ts";
import {
  countOf,
  deepFreeze,
  isHighSurrogate,
  isLowSurrogate,
  type Json,
  typeOfJson,
} from "../value/json.ts";
import { previewOf } from "../value/preview.ts";
import { requireJson } from "../value/require-json.ts";
import { shapeOf } from "../value/shape.ts";
import type { VariableInfo } from "./variable-store.ts";

/** A private, frozen copy of a value, and all that is said about it. */
export interface Described {
  readonly value: Json;
  /** What is stored: JSON text, or of a string the text itself; `asText` says which. */
  readonly text: string;
  readonly asText: boolean;
  readonly about: Pick<VariableInfo, "type" | "count" | "bytes" | "chars" | "shape" | "preview">;
}

/** Throws `limit_exceeded` for a value of more than `maxJsonBytes`. Cost: linear in the value. */
export function describeValue(value: Json): Described {
  requireJson(value);
  // A lone surrogate cannot be stored as UTF-8; JSON escapes it.
  const asText = typeof value === "string" && value.isWellFormed();
  const text = asText ? value : JSON.stringify(value);
  const bytes = byteLength(text);
  if (bytes > limits.maxJsonBytes) {
    const advice = "Save a part of it, or save it as text in several variables.";
    throw limitExceeded("maxJsonBytes", { maximum: limits.maxJsonBytes, actual: bytes, advice });
  }
  const copy = valueFrom({ text, asText });
  return {
    value: copy,
    text,
    asText,
    about: {
      type: typeOfJson(copy),
      count: countOf(copy),
      bytes,
      chars: text.length,
      shape: shapeOf(copy),
      preview: previewOf(copy),
    },
  };
}

/** The value that was stored, frozen. */
export function valueFrom({ text, asText }: Pick<Described, "text" | "asText">): Json {
  return asText ? text : deepFreeze(parseJson(text));
}

function parseJson(text: string): Json {
  // What JSON.parse returns is Json by definition.
  return JSON.parse(text) as Json;
}

/** Length in UTF-8. Cost: linear, no copy. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x80) continue;
    const isPair = isHighSurrogate(code) && isLowSurrogate(text.charCodeAt(index + 1));
    if (isPair) {
      bytes += 2;
      index++;
    } else bytes += code < 0x800 ? 1 : 2;
  }
  return bytes;
}
