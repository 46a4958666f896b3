/** Length of a line that is shown. */
const MAX_CHARS = 200;
/** Characters of a longer line that are shown before its first change. */
const BEFORE_CHARS = 60;

/** A line of a diff: all of it, or the part around its first change. */
export class LineExcerpt {
  #length = 0;
  #shown = "";
  /** The last characters before a change. */
  #recent = "";
  #isMarked = false;
  #startsLate = false;

  get length(): number {
    return this.#length;
  }

  get isClipped(): boolean {
    return this.#startsLate || this.#length > this.#shown.length;
  }

  get text(): string {
    const isCut = this.#startsLate
      ? this.#shown.length >= MAX_CHARS
      : this.#length > this.#shown.length;
    return `${this.#startsLate ? "…" : ""}${this.#shown}${isCut ? "…" : ""}`.toWellFormed();
  }

  /** Begins another line. */
  clear(): void {
    this.#length = 0;
    this.#shown = "";
    this.#recent = "";
    this.#isMarked = false;
    this.#startsLate = false;
  }

  append(text: string): void {
    this.#length += text.length;
    this.#shown += text.slice(0, Math.max(MAX_CHARS - this.#shown.length, 0));
    if (!this.#isMarked)
      this.#recent = (this.#recent + text.slice(-BEFORE_CHARS)).slice(-BEFORE_CHARS);
  }

  /** The line changes here. */
  mark(): void {
    if (this.#isMarked) return;
    this.#isMarked = true;
    if (this.#length <= MAX_CHARS - BEFORE_CHARS) return;
    this.#startsLate = true;
    this.#shown = this.#recent;
  }
}
