import { GREATER, SPACE, TAB } from "./url-characters.ts";

/** What is indented or quoted, line breaks aside. */
const GOES_ON = /^[\r\n]*[ \t>]/;

/**
 * Tells whether a text is inside the definition of a footnote. A renderer moves it to the end of the page,
 * where an attribute that was left open further down takes it in. It ends after a blank line, with the
 * first line that is neither indented nor quoted.
 */
export class FootnoteTracker {
  #place: "outside" | "inside" | "after a blank line" = "outside";
  #isAtStart = true;
  #hasText = false;

  get isOpen(): boolean {
    return this.#place === "inside" || (this.#place !== "outside" && !this.#isAtStart);
  }

  /** True if the text, put out next, would be inside. */
  takesIn(text: string): boolean {
    return this.isOpen || (this.#place !== "outside" && GOES_ON.test(text));
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
