/** The work of one Directory's clients. Each write is due at its time, however long answers take. */
export interface Drive {
  /** 0: `clients` write as fast as they receive answers. */
  readonly writesPerSecond: number;
  readonly clients: number;
  readonly seconds: number;
  /** Number of entries in the Directory. Each write changes one of them. */
  readonly entries: number;
}

export interface Driven {
  /** Measured from the time at which each write was due. */
  readonly latenciesMs: readonly number[];
  /** Time until the last answer. */
  readonly elapsedMs: number;
}
