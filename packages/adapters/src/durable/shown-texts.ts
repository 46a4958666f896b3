import type { ModelMessage } from "ai";
import { type ShownText, withAnswerParts } from "../agent/expand-answer.ts";
import { characters, sqlRows } from "../../../../src/internal.ts";

/**
 * The texts that were shown with values, and as the model wrote them. A framework may store only what was
 * shown: then the next prompts would contain the values, and those of sealed variables, which no model may
 * see. A stored text is recognized if it is whole, or was cut off at its end; trimmed or not.
 */
export function shownTexts(sql: sqlRows.Sql, prefix: string) {
  const table = `${prefix}${SHOWN_TABLE}`;
  const open = new WeakMap<object, number>();
  let kept: Map<number, ShownText> | undefined;
  return {
    /** Stores a text, in place of its start. `key`: the same object for the same text. */
    keep({ written, shown }: ShownText, key: object): void {
      const texts = all();
      if (texts.size === 0) {
        sql.run(`CREATE TABLE IF NOT EXISTS ${table}
          (id INTEGER PRIMARY KEY, written TEXT NOT NULL, shown TEXT NOT NULL)`);
      }
      const id = open.get(key) ?? Math.max(0, ...texts.keys()) + 1;
      open.set(key, id);
      const text = { written: storable(written), shown: storable(shown) };
      const added = `INSERT OR REPLACE INTO ${table} (id, written, shown) VALUES (?, ?, ?)`;
      sql.run(added, id, text.written, text.shown);
      texts.set(id, text);
      const [oldest = id] = texts.keys();
      if (texts.size <= MAX_TEXTS) return;
      texts.delete(oldest);
      sql.run(`DELETE FROM ${table} WHERE id = ?`, oldest);
    },

    /** Returns the messages of a history with the texts as the model wrote them. */
    restored(messages: readonly ModelMessage[]): ModelMessage[] {
      const texts = [...all().values()].toReversed();
      if (texts.length === 0) return [...messages];
      const restored = (text: string) => restoredText(text, texts);
      return withAnswerParts(messages, (part) =>
        part.type === "text" ? { ...part, text: restored(part.text) } : part,
      ).map((message) =>
        message.role === "assistant" && typeof message.content === "string"
          ? { ...message, content: restored(message.content) }
          : message,
      );
    },
  };

  function all(): Map<number, ShownText> {
    const rows = () =>
      sqlRows.hasTable(sql, table) ? sql.all(`SELECT * FROM ${table} ORDER BY id`) : [];
    kept ??= new Map(
      rows().map((row) => [
        sqlRows.numberIn(row, "id"),
        { written: sqlRows.textIn(row, "written"), shown: sqlRows.textIn(row, "shown") },
      ]),
    );
    return kept;
  }
}

export const SHOWN_TABLE = "shown_text";

/** Characters of a text that are kept; of a longer one, the start is recognized. */
const MAX_CHARS = 500_000;
const MAX_TEXTS = 200;
/** Characters of its first value by which the start of a text is recognized. */
const MIN_VALUE_CHARS = 4;

/** SQLite holds no half of a character (a lone surrogate). */
function storable(text: string): string {
  return characters.clip(text, MAX_CHARS).toWellFormed();
}

function restoredText(text: string, texts: readonly ShownText[]): string {
  const stored = text.trim().toWellFormed();
  const same = texts.find(({ shown }) => shown.trim() === stored);
  if (same !== undefined) return same.written;
  for (const { written, shown } of texts) {
    const whole = shown.trim();
    // What was shown before the first value, and a short start of that, are in other texts by chance.
    const chars = sharedChars(written.trimStart(), whole) + MIN_VALUE_CHARS;
    if (Math.min(stored.length, whole.length) < chars) continue;
    if (whole.startsWith(stored)) return written;
    if (!stored.startsWith(whole)) continue;
    return shown.length >= MAX_CHARS - 1 ? written : written + stored.slice(whole.length);
  }
  return text;
}

function sharedChars(one: string, other: string): number {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count++;
  return count;
}
