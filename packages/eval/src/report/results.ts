import type { ArmName } from "../arms/arm.ts";
import type { Price } from "../models/prices.ts";
import type { Cell } from "../runner/cell.ts";
import type { Interval } from "../statistics/bootstrap.ts";
import type { Family } from "../tasks/task.ts";

/** The content of `results.json`. */
export interface Results {
  readonly about: About;
  readonly arms: readonly ArmRow[];
  readonly families: readonly FamilyRow[];
  /** Right and intact by the size of the data. */
  readonly sizes: readonly SizeRow[];
  readonly comparisons: readonly Comparison[];
  readonly cells: readonly Cell[];
}

export interface About {
  readonly byref: string;
  readonly model: string;
  /** Day of the run. */
  readonly date: string;
  readonly seed: number;
  /** Tasks of each kind. */
  readonly count: number;
  readonly isQuick: boolean;
  /** Names of public sets. */
  readonly sets: readonly string[];
  readonly price: Price & { readonly of: string };
  /** Why the run ended early. */
  readonly stopped?: string;
}

/** Columns of the table. Values are means of a task, apart from those that say otherwise. */
export interface Measures {
  /** Share of the tasks. */
  readonly right?: Interval;
  /** Share of the tasks whose data has to arrive unchanged. */
  readonly intact?: Interval;
  /** Wrong characters in 1,000 that the model copied. */
  readonly copyErrors?: Interval;
  readonly input?: Interval;
  readonly cached?: Interval;
  readonly output?: Interval;
  /** Dollars. */
  readonly cost?: Interval;
  readonly calls?: Interval;
  readonly seconds?: Interval;
  /** Share of the references that were written. */
  readonly wrongReferences?: Interval;
  /** Share of the tasks with data to pass in which references were written. */
  readonly usedReferences?: Interval;
  /** Steps of the tasks that recovered. */
  readonly recoverySteps?: Interval;
  /** Share of the tasks in which a call failed. */
  readonly recovered?: Interval;
}

export interface ArmRow extends Measures {
  readonly arm: ArmName;
  readonly tasks: number;
  readonly didNotFit: number;
}

export interface FamilyRow {
  readonly family: Family;
  readonly arm: ArmName;
  readonly right?: Interval;
}

export interface SizeRow {
  readonly size: number;
  readonly arm: ArmName;
  readonly intact?: Interval;
}

/** An arm against another on the same tasks. */
export interface Comparison {
  readonly arm: string;
  readonly against: string;
  /** Tasks that both have. */
  readonly tasks: number;
  /** Tasks that only this arm has right. */
  readonly won: number;
  readonly lost: number;
  /** Difference of the shares that are right. */
  readonly right?: Interval;
  /** Its cost over the other's. */
  readonly cost?: Interval;
  /** Its tokens, input and output, over the other's. */
  readonly tokens?: Interval;
}
