/** What was counted, and what was wrong, by the rows of the scorecard. */
export class Findings {
  kills = 0;
  turns = 0;
  /** By the moment at which the server was killed. */
  readonly moments = new Map<string, number>();
  readonly wrong: { readonly row: string; readonly what: string }[] = [];
  readonly counts = new Map<string, number>();
  /** How it came to what is wrong. */
  readonly stories: string[] = [];
  /** From the start of the process, and from its open port, to the first sign of each open turn. */
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
