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
