import * as limits from "../limits.ts";
import { clip } from "./characters.ts";
import {
  countOf,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonArray,
  type JsonObject,
} from "./json.ts";

const MAX_DEPTH = 3;
const MAX_NESTED_STRING_CHARS = 60;
const MIN_NESTED_STRING_CHARS = 6;

/**
 * Returns the start of a value in at most `chars` characters: keys are kept, nested values are shortened,
 * and omitted parts are counted (`… (+490 more)`). Valid text, without lone surrogates or control
 * characters. Cost: depends on `chars`, not on the value's size.
 */
export function previewOf(value: Json, chars: number = limits.maxLineChars): string {
  if (typeof value !== "string") return finish(write(value, chars, 0), chars);
  return value.length <= chars ? finish(value, chars) : cutText(value, countOf(value), chars);
}

/**
 * Like `previewOf` for a text of `total` characters (code points) of which only the start is available: all
 * of it, or more than `maxLineChars` UTF-16 units.
 */
export function previewOfText(start: string, total: number): string {
  const chars = limits.maxLineChars;
  return start.length <= chars ? finish(start, chars) : cutText(start, total, chars);
}

/** Like `previewOf` for an array whose elements arrive one at a time. Holds at most the preview. */
export class ArrayPreview {
  readonly #written: string[] = [];
  readonly #depth: number;
  #left: number;
  #isFull = false;

  constructor(chars: number = limits.maxLineChars, depth = 0) {
    this.#left = chars - 20;
    this.#depth = depth;
  }

  /** Adds an element. False if no further element would be shown. */
  add(element: Json): boolean {
    return this.addText((left) => write(element, left, this.#depth + 1));
  }

  /** Adds an element, or a member of an object, that is written in about as many characters as are left. */
  addText(writeIn: (left: number) => string): boolean {
    if (this.#isFull) return false;
    const text = writeIn(this.#left);
    const fits = text.length <= this.#left || this.#written.length === 0;
    if (fits) {
      this.#written.push(text);
      this.#left -= text.length + 1;
    }
    this.#isFull = !fits || this.#left <= 0;
    return !this.#isFull;
  }

  /** Returns at most `maxLineChars`, including the number of omitted elements. */
  preview(total: number): string {
    return finish(`[${this.text(total)}]`, limits.maxLineChars);
  }

  /** Returns what is inside of the brackets, before it is cleaned and clipped. */
  text(total: number): string {
    const rest = total - this.#written.length;
    return [...this.#written, ...(rest === 0 ? [] : [`… (+${rest} more)`])].join(",");
  }
}

function finish(text: string, chars: number): string {
  // Cleaning does not change the length, so only the start of a long key is cleaned.
  const clean = withoutControls(text.slice(0, chars + 1));
  return clean.length <= chars ? clean : `${clip(clean, chars - 1)}…`;
}

function cutText(start: string, total: number, chars: number): string {
  const shown = clip(start, Math.max(chars - `… (+${total} more)`.length, 0));
  return finish(`${shown}… (+${total - countOf(shown)} more)`, chars);
}

function write(value: Json, budget: number, depth: number): string {
  if (typeof value === "string") return writeString(value, budget);
  if (isJsonArray(value)) return writeArray(value, budget, depth);
  if (isJsonObject(value)) return writeObject(value, budget, depth);
  return JSON.stringify(value);
}

function writeString(text: string, budget: number): string {
  const chars = Math.min(Math.max(budget - 3, MIN_NESTED_STRING_CHARS), MAX_NESTED_STRING_CHARS);
  return JSON.stringify(text.length <= chars ? text : `${clip(text, chars)}…`);
}

function writeArray(values: JsonArray, budget: number, depth: number): string {
  if (values.length === 0) return "[]";
  if (depth >= MAX_DEPTH) return `[… (+${values.length} more)]`;
  const start = new ArrayPreview(budget, depth);
  for (const value of values) if (!start.add(value)) break;
  return `[${start.text(values.length)}]`;
}

function writeObject(value: JsonObject, budget: number, depth: number): string {
  const keys = Object.keys(value);
  if (keys.length === 0) return "{}";
  if (depth >= MAX_DEPTH) return `{… (+${keys.length} more)}`;
  const start = new ArrayPreview(budget, depth);
  for (const [at, key] of keys.entries()) {
    const name = `${JSON.stringify(key)}:`;
    const isMore = start.addText((left) => {
      // Each remaining key gets an equal share of the remaining budget.
      const share = Math.max(Math.floor(left / (keys.length - at)), 24);
      return name + write(value[key] ?? null, share - name.length + 1, depth + 1);
    });
    if (!isMore) break;
  }
  return `{${start.text(keys.length)}}`;
}

/** Replaces control characters and lone surrogates, which would not survive transport, by spaces. */
function withoutControls(text: string): string {
  return text.toWellFormed().replaceAll(/\p{Cc}/gu, " ");
}
