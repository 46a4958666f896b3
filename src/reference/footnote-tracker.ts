import { GREATER, SPACE, TAB } from "./url-characters.ts";

/** Indented or quoted text after optional line breaks. */
const CONTINUES = /^[\r\n]*[ \t>]/;

/**
 * Tracks whether a text is inside the definition of a footnote. A renderer moves the definition to the end
 * of the page, where an attribute left open further down can absorb it. The definition ends after a blank
 * line, at the first line that is neither indented nor quoted.
 */
export class FootnoteTracker {
  #place: "outside" | "inside" | "after a blank line" = "outside";
  #isAtStart = true;
  #hasText = false;

  get isOpen(): boolean {
    return this.#place === "inside" || (this.#place !== "outside" && !this.#isAtStart);
  }

  /** True if the text, emitted next, would be inside. */
  wouldContain(text: string): boolean {
    return this.isOpen || (this.#place !== "outside" && CONTINUES.test(text));
  }

  begin(): void {
    this.#place = "inside";
  }

  feed(code: number): void {
    const isAtStart = this.#isAtStart;
    this.#isAtStart = false;
    if (code === SPACE || code === TAB || code === GREATER) return;
    this.#hasText = true;
    if (isAtStart && this.#place === "after a blank line") this.#place = "outside";
  }

  endLine(): void {
    if (this.#place !== "outside") {
      this.#place = this.#hasText ? "inside" : "after a blank line";
    }
    this.#isAtStart = true;
    this.#hasText = false;
  }
}
