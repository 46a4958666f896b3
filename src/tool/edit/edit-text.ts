import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { clip } from "../../value/characters.ts";
import { type Diff, LineDiff } from "../../value/line-diff.ts";
import { EditWork, type Replacement, TextEdit, TextEdits } from "../../value/text-edit.ts";
import { nextTask } from "../../value/next-task.ts";
import { EditedUrls } from "./edited-urls.ts";

/** Returns a text in pieces; each call begins anew. */
export type ReadText = () => AsyncIterable<string>;

/** A text that is edited while it is read. */
export class EditedText {
  readonly #read: ReadText;
  readonly #chars: number;
  readonly #replacements: readonly Replacement[];
  readonly #diff = new LineDiff(limits.maxDiffLines);
  readonly #urls = new EditedUrls();

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
      this.#urls.add(segment);
      if (segment.kind !== "removed") made += segment.text;
    });
    for await (const text of this.#read()) {
      through.write(text);
      yield made;
      made = "";
      if (work.isBreakDue()) await nextTask();
    }
    through.end();
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

  /** True if an edit has put a URL together. Call it after the text was read. */
  areUrlsComposed(): Promise<boolean> {
    return this.#urls.areComposed();
  }

  /** The text that an edit has searched, without what must not be found. */
  async *#searched(index: number): AsyncGenerator<string> {
    const work = new EditWork(this.#chars);
    const edits = this.#replacements.slice(0, index).map((edit) => new TextEdit(edit, work));
    let made = "";
    const through = new TextEdits(edits, ({ kind, text, isOpaque = false }) => {
      if (kind !== "removed" && !isOpaque) made += text;
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
    const near = await nearestLine(this.#searched(index), find);
    const hint =
      near === undefined
        ? " Read it with read_variable."
        : ` The nearest is line ${near.line}: ${near.text}`;
    const message = `Edit ${index + 1} finds no ${quoted(find)}. It must be exactly as in the text.${hint}`;
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
async function nearestLine(
  texts: AsyncIterable<string>,
  wanted: string,
): Promise<NearLine | undefined> {
  const first = wanted.split("\n").find((line) => line.trim() !== "") ?? "";
  const triples = triplesOf(first.trim().slice(0, PART_CHARS));
  let best: (NearLine & { share: number }) | undefined;
  let line = 1;
  let held = "";
  let searched = 0;
  const compare = (text: string) => {
    for (let at = 0; at === 0 || at < text.length; at += PART_CHARS / 2) {
      const part = text.slice(at, at + PART_CHARS);
      const own = triplesOf(part);
      let common = 0;
      for (const triple of triples) if (own.has(triple)) common++;
      const share = common / Math.max(triples.size, 1);
      if (share > Math.max(best?.share ?? 0, MIN_SHARE)) best = { line, text: part.trim(), share };
    }
  };
  for await (const text of texts) {
    searched += text.length;
    const lines = (held + text).split("\n");
    held = lines.pop() ?? "";
    for (const one of lines) {
      compare(one);
      line++;
    }
    if (searched > MAX_SEARCHED_CHARS) break;
  }
  compare(held.slice(0, MAX_SEARCHED_CHARS));
  return best && { line: best.line, text: best.text.toWellFormed() };
}

function triplesOf(text: string): ReadonlySet<string> {
  const lower = text.toLowerCase();
  const triples = new Set<string>();
  for (let at = 0; at < Math.max(lower.length - 2, 1); at++) triples.add(lower.slice(at, at + 3));
  return triples;
}
