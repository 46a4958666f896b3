/**
 * Puts a new key before each key of a JSON text that has escapes: V8 may read such a key as another one that it has read
 * after the same keys, in any text (nodejs/node#63785). Returns the text and the prefix of the new keys, which are to be
 * removed; undefined for a text without escapes in keys. Throws as `JSON.parse` does. Cost: linear.
 */
export function markEscapedKeys(text: string): { text: string; prefix: string } | undefined {
  const prefix = `${crypto.randomUUID()} `;
  let marked = "";
  let taken = 0;
  for (const start of escapedKeysIn(text)) {
    // For its errors.
    if (taken === 0) JSON.parse(text);
    marked += `${text.slice(taken, start)}"${prefix}${start}":0,`;
    taken = start;
  }
  return taken === 0 ? undefined : { text: marked + text.slice(taken), prefix };
}

/** Yields where keys with escapes begin. */
function* escapedKeysIn(text: string): Generator<number> {
  // Valid JSON has backslashes only in strings, and no quote is between one and the start of its string.
  for (let escape = text.indexOf("\\"); escape >= 0;) {
    const start = text.lastIndexOf('"', escape);
    let end = text.indexOf('"', escape);
    while (escape >= 0 && escape < end) {
      if (escape + 1 === end) end = text.indexOf('"', end + 1);
      escape = text.indexOf("\\", escape + 2);
    }
    if (end < 0) return;
    COLON.lastIndex = end + 1;
    if (COLON.test(text)) yield start;
  }
}

const COLON = /[ \t\n\r]*:/y;
