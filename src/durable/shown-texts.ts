import type { ModelMessage } from "ai";
import type { ShownText } from "../agent/expand-answer.ts";
import { hasTable, numberIn, type Sql, textIn } from "../store/rows/sql.ts";
import { clip } from "../value/characters.ts";

interface Pair extends ShownText {
  readonly id: number;
}

/**
 * The texts that were shown with values, and as the model wrote them. A framework may store only what was
 * shown: then the next prompts would contain the values, and those of sealed variables, which no model may
 * see. So texts with sealed values are stored before they are shown, and are found even if they are cut off or
 * joined with others. Of other texts the newest are kept, and found if they are unchanged.
 */
export class ShownTexts {
  readonly #sql: Sql;
  readonly #table: string;
  #pairs: Map<number, Pair> | undefined;
  /** The ids of texts that are being shown. */
  readonly #ids = new WeakMap<ShownText, number>();

  /** `prefix`: of the table. */
  constructor(sql: Sql, prefix: string) {
    this.#sql = sql;
    this.#table = `${prefix}${SHOWN_TABLE}`;
  }

  /** Stores a text, or what more of it is shown. */
  keep(text: ShownText): void {
    const pairs = this.#stored;
    if (pairs.size === 0) {
      this.#sql.run(`CREATE TABLE IF NOT EXISTS ${this.#table}
        (id INTEGER PRIMARY KEY, written TEXT NOT NULL, shown TEXT NOT NULL, guarded INTEGER NOT NULL)`);
    }
    const id = this.#ids.get(text) ?? Math.max(0, ...pairs.keys()) + 1;
    this.#ids.set(text, id);
    const [written, shown] = [clip(text.written, MAX_CHARS), clip(text.shown, MAX_CHARS)];
    const { isGuarded } = text;
    if (!isGuarded && shown.length < text.shown.length) return;
    this.#sql.run(
      `INSERT OR REPLACE INTO ${this.#table} (id, written, shown, guarded) VALUES (?, ?, ?, ?)`,
      id,
      written,
      shown,
      Number(isGuarded),
    );
    pairs.set(id, { id, written, shown, isGuarded });
    this.#forgetOldest(pairs);
  }

  /** The messages with texts as the model wrote them. */
  restored(messages: readonly ModelMessage[]): ModelMessage[] {
    if (this.#stored.size === 0) return [...messages];
    return messages.map((message) => {
      if (message.role !== "assistant") return message;
      const { content } = message;
      if (typeof content === "string") return { ...message, content: this.#restored(content) };
      return {
        ...message,
        content: content.map((part) =>
          part.type === "text" ? { ...part, text: this.#restored(part.text) } : part,
        ),
      };
    });
  }

  #restored(text: string): string {
    let restored = text;
    for (const { written, shown, isGuarded } of [...this.#stored.values()].toReversed()) {
      if (text === shown) return written;
      if (isGuarded) restored = withoutShown(restored, { written, shown });
    }
    return restored;
  }

  get #stored(): Map<number, Pair> {
    this.#pairs ??= this.#read();
    return this.#pairs;
  }

  #read(): Map<number, Pair> {
    if (!hasTable(this.#sql, this.#table)) return new Map();
    const rows = this.#sql.all(
      `SELECT id, written, shown, guarded FROM ${this.#table} ORDER BY id`,
    );
    return new Map(
      rows.map((row) => {
        const id = numberIn(row, "id");
        const [written, shown] = [textIn(row, "written"), textIn(row, "shown")];
        return [id, { id, written, shown, isGuarded: numberIn(row, "guarded") === 1 }];
      }),
    );
  }

  #forgetOldest(pairs: Map<number, Pair>): void {
    const others = [...pairs.values()].filter(({ isGuarded }) => !isGuarded);
    for (const { id } of others.slice(0, Math.max(0, others.length - MAX_TEXTS))) {
      pairs.delete(id);
      this.#sql.run(`DELETE FROM ${this.#table} WHERE id = ?`, id);
    }
  }
}

export const SHOWN_TABLE = "shown_text";

/** Characters that are kept of a text. Longer ones without sealed values are not kept. */
const MAX_CHARS = 500_000;
/** Texts without sealed values. */
const MAX_TEXTS = 200;

/** The text with all that was shown as it was written: as a whole, or its start up to where the text is cut off. */
function withoutShown(
  text: string,
  { written, shown }: Pick<ShownText, "written" | "shown">,
): string {
  const isWhole = shown !== "" && shown.length < MAX_CHARS;
  if (isWhole && text.includes(shown)) return text.replaceAll(shown, () => written);
  const same = sharedChars(text, shown);
  // The start that both have in common contains some of a value.
  return same > sharedChars(written, shown) ? written : text;
}

function sharedChars(one: string, other: string): number {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count++;
  return count;
}
