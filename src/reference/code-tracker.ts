import * as ascii from "../value/ascii.ts";

/**
 * Tracks whether the next character of a Markdown text is in code. Reads forward only.
 *
 * Fenced code starts with a line that begins (after spaces, tabs and `>`) with at least three backticks or
 * tildes. It ends with such a line of at least as many of the same character, followed only by blanks.
 * Inline code extends from a run of backticks to the next run of the same length on its line, or to the end
 * of the line.
 */
export class CodeTracker {
  /** The position in the line: before anything, in the line's first run, in blanks after it, or after it. */
  #place: "front" | "firstRun" | "trailingBlanks" | "behind" = "front";
  #runCode = 0;
  #runLength = 0;
  #fenceCode = 0;
  #fenceLength = 0;
  /** Length of the run that opened inline code; 0 outside inline code. */
  #inline = 0;

  /** True if a character other than a backtick or tilde would be in code here. */
  get inCode(): boolean {
    if (this.#fenceLength > 0) return true;
    if (this.#runLength === 0) return this.#inline > 0;
    if (this.#opensFence) return true;
    if (this.#runCode === ascii.TILDE) return this.#inline > 0;
    return this.#inline === 0 || this.#inline !== this.#runLength;
  }

  get #opensFence(): boolean {
    const isFirst = this.#place === "firstRun" || this.#place === "trailingBlanks";
    return isFirst && this.#runLength >= 3;
  }

  feed(code: number): void {
    if (code === ascii.LF || code === ascii.CR) this.#endLine();
    else if (this.#place === "behind" && this.#runLength === 0 && code !== ascii.BACKTICK) return;
    else this.#feedMarked(code);
  }

  #feedMarked(code: number): void {
    const isBlank = code === ascii.SPACE || code === ascii.TAB;
    if (isBlank && this.#fenceLength > 0 && this.#opensFence) {
      this.#place = "trailingBlanks";
      return;
    }
    if (this.#runLength > 0 && code === this.#runCode && this.#place !== "trailingBlanks") {
      this.#runLength++;
      return;
    }
    const isFront = this.#place === "front";
    if (isFront && (isBlank || code === ascii.GREATER)) return;
    if (this.#runLength > 0) this.#endRun();
    if (code === ascii.BACKTICK || (isFront && code === ascii.TILDE)) {
      this.#runCode = code;
      this.#runLength = 1;
      if (isFront) this.#place = "firstRun";
    } else {
      this.#place = "behind";
    }
  }

  #endRun(): void {
    if (this.#fenceLength === 0) {
      if (this.#opensFence) {
        this.#fenceCode = this.#runCode;
        this.#fenceLength = this.#runLength;
      } else if (this.#runCode === ascii.BACKTICK) {
        if (this.#inline === 0) this.#inline = this.#runLength;
        else if (this.#inline === this.#runLength) this.#inline = 0;
      }
    }
    this.#runLength = 0;
    this.#place = "behind";
  }

  #endLine(): void {
    const isFenceLine = this.#opensFence && this.#fenceLength > 0;
    const closes =
      isFenceLine && this.#runCode === this.#fenceCode && this.#runLength >= this.#fenceLength;
    if (closes) this.#fenceLength = 0;
    else if (this.#runLength > 0) this.#endRun();
    this.#runLength = 0;
    this.#inline = 0;
    this.#place = "front";
  }
}
