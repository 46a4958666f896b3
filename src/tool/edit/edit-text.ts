import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { clip, codePointCount } from "../../value/characters.ts";
import { findFolded } from "../../value/folded-text.ts";
import { type Diff, LineDiff } from "../../value/line-diff.ts";
import { EditWork, type Replacement, TextEdit, TextEdits } from "../../value/text-edit.ts";
import { nextTask } from "../../value/next-task.ts";
import { isComposed } from "../composed.ts";

/** Returns a text in pieces; each call begins anew. */
export type ReadText = () => AsyncIterable<string>;

/** A text that is edited while it is read. */
export class EditedText {
  readonly #read: ReadText;
  readonly #chars: number;
  readonly #replacements: readonly Replacement[];
  readonly #diff = new LineDiff(limits.maxDiffLines);
  /** The text before and after; undefined once it is too long to be searched for URLs. */
  #forUrls: { before: string; after: string } | undefined = { before: "", after: "" };

  /** `chars`: the length of the text. */
  constructor(read: ReadText, chars: number, replacements: readonly Replacement[]) {
    this.#read = read;
    this.#chars = chars;
    this.#replacements = replacements;
  }

  /**
   * Returns the text after all edits. Throws `limit_exceeded`, and `edit_not_found` or `edit_ambiguous` at its end.
   */
  async *text(): AsyncGenerator<string, undefined> {
    const work = new EditWork(this.#chars);
    const edits = this.#replacements.map((replacement) => new TextEdit(replacement, work));
    let made = "";
    const through = new TextEdits(edits, (segment) => {
      work.read(segment.text.length);
      this.#diff.add(segment);
      if (segment.kind !== "removed") made += segment.text;
    });
    for await (const text of this.#read()) {
      this.#keep("before", text);
      through.write(text);
      this.#keep("after", made);
      yield made;
      made = "";
      if (work.isBreakDue()) await nextTask();
    }
    through.end();
    this.#keep("after", made);
    yield made;
    for (const [index, edit] of edits.entries()) {
      const { all = false } = this.#replacements[index] ?? {};
      if (edit.count === 0) throw await this.#notFound(index);
      if (edit.count > 1 && !all) throw await this.#ambiguous(index, edit);
    }
    return undefined;
  }

  /** Call it once, after the text was read. */
  diff(): Diff {
    return this.#diff.end();
  }

  /** True if the text has a URL that was put together, or is too long to know. Call it after the text was read. */
  async isComposed(): Promise<boolean> {
    const added = this.#replacements.map(({ replace }) => replace);
    const texts = this.#forUrls;
    return texts === undefined || isComposed(texts.after, [texts.before, ...added]);
  }

  #keep(part: "before" | "after", text: string): void {
    if (this.#forUrls === undefined) return;
    this.#forUrls[part] += text;
    if (this.#forUrls[part].length > MAX_SEARCHED_CHARS) this.#forUrls = undefined;
  }

  /** The text that an edit has searched. */
  async *#searched(index: number): AsyncGenerator<string> {
    const work = new EditWork(this.#chars);
    const edits = this.#replacements.slice(0, index).map((edit) => new TextEdit(edit, work));
    let made = "";
    const through = new TextEdits(edits, ({ kind, text }) => {
      if (kind !== "removed") made += text;
    });
    for await (const text of this.#read()) {
      through.write(text);
      yield made;
      made = "";
    }
    through.end();
    yield made;
  }

  async #notFound(index: number): Promise<ByrefError> {
    const { find = "" } = this.#replacements[index] ?? {};
    let text = "";
    for await (const piece of this.#searched(index)) {
      text += piece;
      if (text.length > MAX_SEARCHED_CHARS) break;
    }
    const start = `Edit ${index + 1} finds no ${quoted(find)}.`;
    const match = findFolded(text, find);
    if (match !== undefined) {
      const place = placeOf(text, match.at);
      const forms = `the text has ${form(match.text)}, find has ${form(match.wanted)}`;
      const message = `${start} It differs in ${match.kinds.join(" and ")} only: at line ${place.line}, column ${place.column} ${forms}. Write find as in the text.`;
      const difference = { ...place, text: match.text, find: match.wanted, kinds: match.kinds };
      return new ByrefError("edit_not_found", message, { edit: index, difference });
    }
    const near = nearestLine(text, find);
    const hint =
      near === undefined
        ? " Read it with read_variable."
        : ` The nearest is line ${near.line}: ${near.text}`;
    const message = `${start} It must be exactly as in the text.${hint}`;
    return new ByrefError("edit_not_found", message, { edit: index, near });
  }

  async #ambiguous(index: number, { count, lines }: TextEdit): Promise<ByrefError> {
    const { find = "" } = this.#replacements[index] ?? {};
    const more = count > lines.length ? " …" : "";
    const message = `Edit ${index + 1} finds ${quoted(find)} ${count} times, in the lines ${lines.join(", ")}${more}. Add text around it, or set all.`;
    return new ByrefError("edit_ambiguous", message, { edit: index, count, lines });
  }
}

function quoted(text: string): string {
  return JSON.stringify(clip(text, 80));
}

/** A text as a model may write it in JSON, with escapes for all characters that may look like others. */
function form(text: string): string {
  const escaped = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(clip(text, 40)).replaceAll(/[^ -~]/g, escaped);
}

/** Line and column, from 1. */
function placeOf(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: codePointCount(before.at(-1) ?? "") + 1 };
}

/** Text in which the nearest line is searched, and the part of a line that is compared at once. */
const MAX_SEARCHED_CHARS = 1_048_576;
const PART_CHARS = 200;
/** The share of the wanted text that a line must contain. */
const MIN_SHARE = 0.4;

interface NearLine {
  readonly line: number;
  readonly text: string;
}

/** Returns the line that has most of the wanted text's triples of characters. */
function nearestLine(text: string, wanted: string): NearLine | undefined {
  const first = wanted.split("\n").find((line) => line.trim() !== "") ?? "";
  const triples = triplesOf(first.trim().slice(0, PART_CHARS));
  let best: (NearLine & { share: number }) | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    for (let at = 0; at === 0 || at < line.length; at += PART_CHARS / 2) {
      const part = line.slice(at, at + PART_CHARS);
      const own = triplesOf(part);
      let common = 0;
      for (const triple of triples) if (own.has(triple)) common++;
      const share = common / Math.max(triples.size, 1);
      if (share > Math.max(best?.share ?? 0, MIN_SHARE)) {
        best = { line: index + 1, text: part.trim(), share };
      }
    }
  }
  return best && { line: best.line, text: best.text.toWellFormed() };
}

function triplesOf(text: string): ReadonlySet<string> {
  const lower = text.toLowerCase();
  const triples = new Set<string>();
  for (let at = 0; at < Math.max(lower.length - 2, 1); at++) triples.add(lower.slice(at, at + 3));
  return triples;
}
