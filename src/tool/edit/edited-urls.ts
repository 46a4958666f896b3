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
    if (this.#chars > MAX_CHARS) return;
    if (kind !== "same") {
      this.#open ??= { old: this.#before, made: this.#before, left: 0 };
      this.#open.left = AFTER_CHARS;
      this.#chars += text.length;
      if (kind === "removed") this.#open.old += text;
      else {
        this.#open.made += text;
        this.#used.push(text);
      }
    } else if (this.#open !== undefined) {
      const after = text.slice(0, this.#open.left);
      this.#open.old += after;
      this.#open.made += after;
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

  #close(): void {
    if (this.#open === undefined) return;
    this.#used.push(this.#open.old);
    this.#made.push(this.#open.made);
    this.#chars += 2 * this.#open.made.length;
    this.#open = undefined;
  }
}
