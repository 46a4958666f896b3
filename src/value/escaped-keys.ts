import * as ascii from "./ascii.ts";

/** A JSON text with other keys in place of those that have escapes. */
interface Renamed {
  readonly text: string;
  /** Returns an object of the text with its own keys. Other values stay as they are. */
  readonly restore: (value: unknown) => unknown;
}

/**
 * Renames the keys of a JSON text that have escapes: V8 may read such a key as another one that it has read before, in
 * any text (nodejs/node#63785). Returns undefined for a text without such keys. Throws as `JSON.parse` does. Cost:
 * linear.
 */
export function withoutEscapedKeys(text: string): Renamed | undefined {
  const keys: string[] = [];
  let prefix = "";
  let renamed = "";
  let taken = 0;
  for (const { start, end } of escapedKeysIn(text)) {
    // For its errors.
    if (taken === 0) JSON.parse(text);
    prefix ||= `${crypto.randomUUID()} `;
    // A text that is no key is read well.
    const key = String(JSON.parse(text.slice(start, end)));
    const written = JSON.stringify(key);
    const needsEscapes = written.includes("\\");
    renamed += text.slice(taken, start) + (needsEscapes ? `"${prefix}${keys.length}"` : written);
    if (needsEscapes) keys.push(key);
    taken = end;
  }
  if (taken === 0) return undefined;
  const keyOf = (name: string) =>
    name.startsWith(prefix) ? (keys[Number(name.slice(prefix.length))] ?? name) : name;
  const restore = (value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value);
    if (!entries.some(([name]) => name.startsWith(prefix))) return value;
    return Object.fromEntries(entries.map(([name, inner]) => [keyOf(name), inner]));
  };
  return { text: renamed + text.slice(taken), restore };
}

/** Yields the places of keys with escapes, with their quotes. */
function* escapedKeysIn(text: string): Generator<{ readonly start: number; readonly end: number }> {
  // Valid JSON has backslashes only in strings, and no quote is between one and the start of its string.
  for (let escape = text.indexOf("\\"); escape >= 0;) {
    const start = text.lastIndexOf('"', escape);
    let end = text.indexOf('"', escape);
    while (escape >= 0 && escape < end) {
      if (escape + 1 === end) end = text.indexOf('"', end + 1);
      escape = text.indexOf("\\", escape + 2);
    }
    if (end < 0) return;
    let next = ++end;
    while (isBlank(text.charCodeAt(next))) next++;
    if (text.charCodeAt(next) === ascii.COLON) yield { start, end };
  }
}

function isBlank(code: number): boolean {
  return code === ascii.SPACE || code === ascii.LF || code === ascii.CR || code === ascii.TAB;
}
