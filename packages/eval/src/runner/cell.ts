import type { ArmName } from "../arms/arm.ts";
import type { Family } from "../tasks/task.ts";

/** How a cell ended. Only `answered` cells can be right. */
export type Ending =
  | "answered"
  /** The model called tools until the limit of steps. */
  | "too many steps"
  /** A prompt was larger than the model's context. */
  | "did not fit"
  /** The provider refused a request. */
  | "refused";

/** Measurements of one task on one arm: a line in the file of finished cells. */
export interface Cell {
  readonly task: string;
  readonly family: Family;
  readonly arm: ArmName;
  readonly ending: Ending;
  readonly isRight: boolean;
  readonly why?: string;
  /** True if the data arrived unchanged. Absent if the task does not require it. */
  readonly isIntact?: boolean;
  /** Characters of data that the model copied, and how many of them are wrong. */
  readonly copied?: { readonly chars: number; readonly errors: number };
  /** References in inputs of the task's tools. */
  readonly references: { readonly written: number; readonly wrong: number };
  /** True if the model wrote a reference. Absent for arms without references. */
  readonly usedReferences?: boolean;
  /** Model calls from the first failed call to one of the same tool that worked. Absent: nothing failed. */
  readonly recoverySteps?: number;
  /** False if a call failed and none of the same tool worked later. */
  readonly recovered?: boolean;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** Dollars; absent without a price. */
  readonly cost?: number;
  readonly calls: number;
  readonly seconds: number;
}

/** Identifies a cell in a run. */
export function keyOf({ task, arm }: Pick<Cell, "task" | "arm">): string {
  return `${task} | ${arm}`;
}
