import type { ModelMessage } from "ai";
import { type SealedText, type ShownText, withAnswerParts } from "../agent/expand-answer.ts";
import { hasTable, numberIn, type Sql, textIn } from "../../../../src/store/rows/sql.ts";
import { clip } from "../../../../src/value/characters.ts";
import {
  CONTEXT_CHARS,
  isFoundAnywhere,
  MAX_VALUE_CHARS,
  type SealedPlace,
  withoutSealed,
} from "./without-sealed.ts";

/**
 * The texts that were shown with values, and as the model wrote them. A framework may store only what was
 * shown: then the next prompts would contain the values, and those of sealed variables, which no model may
 * see. The newest texts are kept, and found if they are unchanged. Sealed values are kept on their own, before
 * they are shown, and are found in any text of the assistant, cut off or joined with others. They stay when
 * their variable is deleted, because the framework's history still has them. Beyond a thousand values, or four
 * million characters of them, those are forgotten that the last prompt did not have, the oldest first.
 */
export class ShownTexts {
  readonly #sql: Sql;
  readonly #texts: string;
  readonly #sealed: string;
  #kept: Kept | undefined;
  /** The ids of the sealed values in texts that are being shown. */
  readonly #open = new WeakMap<ShownText, number[]>();

  /** `prefix`: of the tables. */
  constructor(sql: Sql, prefix: string) {
    this.#sql = sql;
    const [texts, sealed] = SHOWN_TABLES;
    this.#texts = `${prefix}${texts}`;
    this.#sealed = `${prefix}${sealed}`;
  }

  /** Stores the sealed values of a text, and at its end the text. */
  keep(text: ShownText): void {
    const kept = this.#all;
    this.#create(kept);
    const ids = this.#open.get(text) ?? [];
    this.#open.set(text, ids);
    for (const value of text.sealed.slice(ids.length)) {
      ids.push(this.#keepSealed(kept, placeOf(value, text)));
    }
    if (!text.isComplete) return;
    // The text after each value is known now. Short values are found by it.
    text.sealed.forEach((value, index) => {
      const { after } = placeOf(value, text);
      const id = ids[index];
      const place = id === undefined ? undefined : kept.sealed.get(id);
      if (id === undefined || place === undefined || isFoundAnywhere(place)) return;
      kept.sealed.set(id, { ...place, after });
      this.#sql.run(`UPDATE ${this.#sealed} SET after = ? WHERE id = ?`, after, id);
    });
    if (text.shown.length <= MAX_CHARS) this.#keepText(kept, text);
  }

  /** The messages with texts as the model wrote them. */
  restored(messages: readonly ModelMessage[]): ModelMessage[] {
    const kept = this.#all;
    if (kept.texts.size === 0 && kept.sealed.size === 0) return [...messages];
    kept.used.clear();
    const restored = (text: string) => this.#restored(text, kept);
    return withAnswerParts(messages, (part) =>
      part.type === "text" ? { ...part, text: restored(part.text) } : part,
    ).map((message) =>
      message.role === "assistant" && typeof message.content === "string"
        ? { ...message, content: restored(message.content) }
        : message,
    );
  }

  #restored(text: string, { texts, sealed, used }: Kept): string {
    const same = [...texts.values()].findLast(({ shown }) => shown === text);
    let restored = same?.written ?? text;
    for (const [id, place] of sealed) {
      const without = withoutSealed(restored, place);
      if (without !== restored || (same !== undefined && same.shown.includes(place.text))) {
        used.add(id);
      }
      restored = without;
    }
    return restored;
  }

  #keepSealed(kept: Kept, place: SealedPlace): number {
    const { source, text, before, after } = place;
    const [same] = isFoundAnywhere(place)
      ? [...kept.sealed].filter(
          ([, other]) => other.source === source && other.text === text && other.before === before,
        )
      : [];
    if (same !== undefined) return same[0];
    const id = Math.max(0, ...kept.sealed.keys()) + 1;
    this.#sql.run(
      `INSERT INTO ${this.#sealed} (id, source, text, before, after) VALUES (?, ?, ?, ?, ?)`,
      id,
      source,
      text,
      before,
      after,
    );
    kept.sealed.set(id, place);
    this.#forgetSealed(kept, id);
    return id;
  }

  #keepText({ texts }: Kept, { written, shown }: ShownText): void {
    const id = Math.max(0, ...texts.keys()) + 1;
    this.#sql.run(
      `INSERT INTO ${this.#texts} (id, written, shown) VALUES (?, ?, ?)`,
      id,
      written,
      shown,
    );
    texts.set(id, { written, shown });
    const [oldest] = texts.keys();
    if (texts.size <= MAX_TEXTS || oldest === undefined) return;
    texts.delete(oldest);
    this.#sql.run(`DELETE FROM ${this.#texts} WHERE id = ?`, oldest);
  }

  #forgetSealed({ sealed, used }: Kept, newest: number): void {
    let chars = 0;
    for (const { text } of sealed.values()) chars += text.length;
    const unused = [...sealed.keys()].filter((id) => !used.has(id));
    for (const id of [...unused, ...used]) {
      if (sealed.size <= MAX_SEALED && chars <= MAX_SEALED_CHARS) return;
      if (id === newest) continue;
      chars -= sealed.get(id)?.text.length ?? 0;
      sealed.delete(id);
      used.delete(id);
      this.#sql.run(`DELETE FROM ${this.#sealed} WHERE id = ?`, id);
    }
  }

  #create({ texts, sealed }: Kept): void {
    if (texts.size > 0 || sealed.size > 0) return;
    this.#sql.run(`CREATE TABLE IF NOT EXISTS ${this.#texts}
      (id INTEGER PRIMARY KEY, written TEXT NOT NULL, shown TEXT NOT NULL)`);
    this.#sql.run(`CREATE TABLE IF NOT EXISTS ${this.#sealed}
      (id INTEGER PRIMARY KEY, source TEXT NOT NULL, text TEXT NOT NULL, before TEXT NOT NULL,
        after TEXT NOT NULL)`);
  }

  get #all(): Kept {
    this.#kept ??= this.#read();
    return this.#kept;
  }

  #read(): Kept {
    const rows = (table: string) =>
      hasTable(this.#sql, table) ? this.#sql.all(`SELECT * FROM ${table} ORDER BY id`) : [];
    const texts = rows(this.#texts).map((row) => {
      const [written, shown] = [textIn(row, "written"), textIn(row, "shown")];
      return [numberIn(row, "id"), { written, shown }] as const;
    });
    const sealed = rows(this.#sealed).map((row) => {
      const [source, text] = [textIn(row, "source"), textIn(row, "text")];
      const [before, after] = [textIn(row, "before"), textIn(row, "after")];
      return [numberIn(row, "id"), { source, text, before, after }] as const;
    });
    return { texts: new Map(texts), sealed: new Map(sealed), used: new Set() };
  }
}

interface Kept {
  readonly texts: Map<number, Pick<ShownText, "written" | "shown">>;
  readonly sealed: Map<number, SealedPlace>;
  /** The sealed values that the last prompt had. */
  readonly used: Set<number>;
}

export const SHOWN_TABLES = ["shown_text", "shown_sealed"] as const;

/** Characters of a text that is kept. */
const MAX_CHARS = 500_000;
const MAX_TEXTS = 200;
const MAX_SEALED = 1_000;
/** Characters of all sealed values that are kept. */
const MAX_SEALED_CHARS = 4_000_000;

function placeOf({ source, text, at }: SealedText, { shown }: ShownText): SealedPlace {
  const end = at + text.length;
  return {
    source,
    text: clip(text, MAX_VALUE_CHARS),
    before: shown.slice(Math.max(0, at - CONTEXT_CHARS), at),
    after: shown.slice(end, end + CONTEXT_CHARS),
  };
}
