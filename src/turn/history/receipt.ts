import * as limits from "../../limits.ts";

/** A value that takes the place of a reference in an answer. */
export interface PlacedValue {
  /** The reference as the model wrote it. */
  readonly source: string;
  readonly variable: string;
  /** The path of the reference; empty for the whole value. */
  readonly path: string;
  readonly version?: number;
  /** The tool that returned the variable, its call, and when. */
  readonly tool?: string;
  readonly call?: string;
  readonly at?: string;
  /** Set if it was evicted, and the turn has made it again. */
  readonly remade?: true;
  readonly chars: number;
}

/** A value in a displayed text. Positions are in UTF-16 code units. */
export interface StoredSpan extends Omit<PlacedValue, "chars"> {
  /** The index of the text among the displayed ones. */
  readonly text: number;
  readonly start: number;
  readonly end: number;
  /** Digest of the value, from `digestOf`. Absent for a secret. */
  readonly digest?: string;
}

/** Sources of the values in an answer's displayed texts. */
export interface StoredReceipt {
  /** The first `maxItems`. */
  readonly spans: readonly StoredSpan[];
  /** True if there are further values. */
  readonly isCut?: true;
}

/** A span whose digest is computed after it was placed. */
export type OpenSpan = StoredSpan & { digest?: string };

export class Receipt {
  #spans: StoredSpan[];
  #isCut: boolean;

  constructor({ spans, isCut }: StoredReceipt = { spans: [] }) {
    this.#spans = [...spans];
    this.#isCut = isCut === true;
  }

  /** Adds a value at the end of a text. Returns its span, which lacks a digest, unless there are too many. */
  place({ chars, ...value }: PlacedValue, text: number, start: number): OpenSpan | undefined {
    if (this.#spans.length >= limits.maxItems) {
      this.#isCut = true;
      return undefined;
    }
    const span: OpenSpan = { ...value, text, start, end: start + chars };
    this.#spans.push(span);
    return span;
  }

  /** Adds the receipt of further texts, the first of which has the index `text`. */
  add({ spans, isCut }: StoredReceipt = { spans: [] }, text: number): void {
    this.#spans.push(...spans.map((span) => ({ ...span, text: span.text + text })));
    this.#isCut ||= isCut === true;
  }

  /** Removes the values of the text with the index `text` and of later ones. */
  removeFrom(text: number): void {
    this.#spans = this.#spans.filter((span) => span.text < text);
    if (this.#spans.length < limits.maxItems) this.#isCut = false;
  }

  /** The values from this text on, counted from it. Undefined if there are none. */
  from(text: number): StoredReceipt | undefined {
    const spans = this.#spans
      .filter((span) => span.text >= text)
      .map((span) => ({ ...span, text: span.text - text }));
    if (spans.length === 0 && !this.#isCut) return undefined;
    return { spans, ...(this.#isCut ? { isCut: true } : {}) };
  }
}
