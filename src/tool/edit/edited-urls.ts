import type { Segment } from "../../value/segments.ts";
import { isComposed } from "../composed.ts";

/** Text around a change that may be part of the same URL. */
const BEFORE_CHARS = 2_048;
const AFTER_CHARS = 256;
/** Text that is compared. With more changes than that, the text counts as composed. */
const MAX_CHARS = 1_048_576;

/** Collects the surroundings of changes in a text, to find URLs that an edit has put together. */
export class EditedUrls {
  readonly #used: string[] = [];
  readonly #made: string[] = [];
  #before = "";
  /** The text around the current change, as it was and as it is. */
  #open: { old: string; made: string; left: number } | undefined;
  #chars = 0;

  add({ kind, text }: Segment): void {
    if (this.#chars > MAX_CHARS) return this.#forget();
    if (kind !== "same") {
      if (this.#open === undefined) {
        this.#open = { old: this.#before, made: this.#before, left: 0 };
        this.#chars += 2 * this.#before.length;
      }
      this.#open.left = AFTER_CHARS;
      this.#chars += text.length;
      if (kind === "removed") this.#open.old += copied(text);
      else {
        this.#open.made += text;
        this.#used.push(text);
      }
    } else if (this.#open !== undefined) {
      const after = copied(text.slice(0, this.#open.left));
      this.#open.old += after;
      this.#open.made += after;
      this.#chars += 2 * after.length;
      this.#open.left -= after.length;
      if (this.#open.left === 0) this.#close();
    }
    if (kind !== "removed") {
      this.#before = (this.#before + text.slice(-BEFORE_CHARS)).slice(-BEFORE_CHARS);
    }
  }

  /** True if the text has a URL that neither the text before nor an added text has. */
  async areComposed(): Promise<boolean> {
    this.#close();
    return this.#chars > MAX_CHARS || isComposed(this.#made, this.#used);
  }

  /** The text counts as composed, whatever it was. */
  #forget(): void {
    this.#open = undefined;
    this.#used.length = 0;
    this.#made.length = 0;
  }

  #close(): void {
    if (this.#open === undefined) return;
    this.#used.push(this.#open.old);
    this.#made.push(this.#open.made);
    this.#open = undefined;
  }
}

/** A part of a string keeps the whole in memory; its copy does not. */
function copied(text: string): string {
  return String(JSON.parse(JSON.stringify(text)));
}
