/** Counters of a workspace. Values are never stored. */
export interface Counts {
  /** Calls of tools, those that failed included. */
  readonly calls: number;
  /** Results that were kept as variables. */
  readonly kept: number;
  /** Characters of the servers' results, and of what the client was sent for them. */
  readonly charactersReceived: number;
  readonly charactersSent: number;
  /** Characters of the references that were written, and bytes of the values that replaced them. */
  readonly referenceCharacters: number;
  readonly bytesByReference: number;
  /** Calls that failed because of a reference. */
  readonly wrongReferences: number;
  /** Calls that succeeded after the same tool was called with a wrong reference. */
  readonly recovered: number;
}

/** Returns the counts with the tokens that were not sent, estimated by 4 characters each. */
export function withTokens(counts: Counts): Counts & { readonly tokensSaved: number } {
  const { calls, kept, charactersReceived, charactersSent, ...ofReferences } = counts;
  const tokensSaved = Math.round(Math.max(charactersReceived - charactersSent, 0) / 4);
  return { calls, kept, charactersReceived, charactersSent, tokensSaved, ...ofReferences };
}

/** Adds up counts. */
export interface Statistics {
  add(counts: Partial<Counts>): void;
  read(): Counts;
}

export const NO_COUNTS: Counts = {
  calls: 0,
  kept: 0,
  charactersReceived: 0,
  charactersSent: 0,
  referenceCharacters: 0,
  bytesByReference: 0,
  wrongReferences: 0,
  recovered: 0,
};

/** Counts for the life of the process. */
export class MemoryStatistics implements Statistics {
  readonly #counts: Record<keyof Counts, number> = { ...NO_COUNTS };

  add(counts: Partial<Counts>): void {
    for (const [name, count] of Object.entries(counts)) {
      // Its keys are those of the counts.
      this.#counts[name as keyof Counts] += count;
    }
  }

  read(): Counts {
    return { ...this.#counts };
  }
}

/** True if a call fails with the code because of what was written for a reference. */
export function isWrongReference(code: string): boolean {
  return WRONG_REFERENCES.has(code);
}

const WRONG_REFERENCES: ReadonlySet<string> = new Set([
  "path_not_found",
  "variable_not_found",
  "variable_evicted",
  "bad_path",
]);
