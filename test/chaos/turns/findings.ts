/** Counts and failures of a run, by rows of the scorecard. */
export class Findings {
  kills = 0;
  turns = 0;
  /** Number of kills by the moment at which they happened. */
  readonly moments = new Map<string, number>();
  readonly wrong: { readonly row: string; readonly what: string }[] = [];
  readonly counts = new Map<string, number>();
  /** Logs of the turns that failed. */
  readonly stories: string[] = [];
  /**
   * From the open port to the first sign of each resumed turn; `sinceStartMs`: from the start of the process.
   */
  readonly resumedMs: number[] = [];
  readonly sinceStartMs: number[] = [];

  count(what: string, times = 1): void {
    this.counts.set(what, this.counted(what) + times);
  }

  counted(what: string): number {
    return this.counts.get(what) ?? 0;
  }

  blame(row: string, what: string): void {
    if (this.wrong.some((wrong) => wrong.row === row && wrong.what === what)) return;
    this.wrong.push({ row, what });
  }

  blamed(row: string): number {
    return this.wrong.filter((wrong) => wrong.row === row).length;
  }
}
