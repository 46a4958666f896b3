/** What the clients of one Directory do: each write is due at its time, however long answers take. */
export interface Drive {
  /** 0: `clients` write as fast as they are answered. */
  readonly writesPerSecond: number;
  readonly clients: number;
  readonly seconds: number;
  /** Entries that the Directory has; each write changes one of them. */
  readonly entries: number;
}

export interface Driven {
  /** From the time at which each write was due. */
  readonly latenciesMs: readonly number[];
  /** Until the last answer. */
  readonly elapsedMs: number;
}
