import { TestRunner } from "vitest";

/** Measured numbers of one row of the scorecard, by name. */
export type Figures = Readonly<Record<string, number>>;

export interface RowFigures {
  readonly row: string;
  readonly figures: Figures;
}

declare module "vitest" {
  interface TaskMeta {
    scorecard?: RowFigures[];
  }
}

/**
 * Records what the running test reached in a row of `test/scorecard.json`. Call it before the test's
 * expectations, so that the table also shows the figure of a failing test.
 */
export function figure(row: string, figures: Figures): void {
  const test = TestRunner.getCurrentTest();
  if (test === undefined) throw new Error("No test is running.");
  const { meta } = test;
  meta.scorecard = [...(meta.scorecard ?? []), { row, figures }];
}
