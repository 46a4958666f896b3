import { TestRunner } from "vitest";

/** Numbers of one row of the scorecard, by what they count. */
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
 * What the running test has reached of a row of `test/scorecard.json`, counted by it. Said before the test
 * expects anything of it, so that the table shows the figure of a test that fails.
 */
export function figure(row: string, figures: Figures): void {
  const test = TestRunner.getCurrentTest();
  if (test === undefined) throw new Error("No test is running.");
  const { meta } = test;
  meta.scorecard = [...(meta.scorecard ?? []), { row, figures }];
}
