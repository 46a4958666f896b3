import { json } from "../../../../src/internal.ts";
import { type ArmName, armNames } from "../arms/arm.ts";
import type { Price } from "../models/prices.ts";
import { type Cell, keyOf } from "../runner/cell.ts";
import { type Fraction, type Interval, meanOf, ratioOf, shareOf } from "../statistics/bootstrap.ts";
import type { Family } from "../tasks/task.ts";

/** How a column prints its values. */
export type Unit = "share" | "number" | "dollars";

/** The content of `results.json`. */
export interface Results {
  readonly about: About;
  readonly arms: readonly ArmRow[];
  /** The share of the tasks of a kind that is right. */
  readonly families: readonly { family: Family; arm: ArmName; right?: Interval }[];
  readonly cells: readonly Cell[];
}

interface About {
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

/** Families with data that can be passed by reference. */
const PASSING: ReadonlySet<Family> = new Set(["bytes", "edit", "ids", "wrong reference"]);

/** Mean of the tasks that have the value. */
const mean = (of: (cell: Cell) => number | undefined) => (cells: readonly Cell[]) =>
  meanOf(cells.flatMap((cell) => of(cell) ?? []));

/** Share of the tasks that have the value in which it is true. */
const share = (of: (cell: Cell) => boolean | undefined) => (cells: readonly Cell[]) =>
  shareOf(
    cells.flatMap((cell): Fraction[] => {
      const is = of(cell);
      return is === undefined ? [] : [[is ? 1 : 0, 1]];
    }),
  );

/** The rows of the table, and the fields of an arm in `results.json`. */
export const measures = {
  right: ["right", "share", share(({ isRight }) => isRight)],
  intact: ["bytes intact", "share", share(({ isIntact }) => isIntact)],
  copyErrors: [
    "copy errors per 1,000 characters",
    "number",
    (cells) =>
      ratioOf(
        cells.flatMap(({ copied }): Fraction[] =>
          copied === undefined ? [] : [[copied.errors * 1_000, copied.chars]],
        ),
      ),
  ],
  input: ["input tokens", "number", mean(({ input }) => input)],
  cached: ["of them cached", "number", mean(({ cached }) => cached)],
  output: ["output tokens", "number", mean(({ output }) => output)],
  cost: ["cost", "dollars", mean(({ cost }) => cost)],
  calls: ["model calls", "number", mean(({ calls }) => calls)],
  seconds: ["seconds", "number", mean(({ seconds }) => seconds)],
  usedReferences: [
    "references used",
    "share",
    share((cell) => (PASSING.has(cell.family) ? cell.usedReferences : undefined)),
  ],
  wrongReferences: [
    "wrong references",
    "share",
    (cells) =>
      shareOf(
        cells
          .map(({ references: { wrong, written } }): Fraction => [wrong, written])
          .filter(([, written]) => written > 0),
      ),
  ],
  recovered: ["recovered", "share", share(({ recovered }) => recovered)],
  recoverySteps: ["steps to recover", "number", mean(({ recoverySteps }) => recoverySteps)],
} as const satisfies Record<
  string,
  readonly [title: string, unit: Unit, of: (cells: readonly Cell[]) => Interval | undefined]
>;

export type Measures = { readonly [Name in keyof typeof measures]?: Interval };

interface ArmRow extends Measures {
  readonly arm: ArmName;
  readonly tasks: number;
  readonly didNotFit: number;
}

/** Computes all figures of finished cells. They do not depend on the order in which cells were finished. */
export function summarize(about: About, finished: readonly Cell[]): Results {
  const cells = finished.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b), "en"));
  const arms = armNames.filter((name) => cells.some(({ arm }) => arm === name));
  const rows = arms.map((arm) => ({ arm, own: cells.filter((cell) => cell.arm === arm) }));
  return {
    about,
    arms: rows.map(({ arm, own }) => ({
      arm,
      tasks: own.length,
      didNotFit: own.filter(({ ending }) => ending === "did not fit").length,
      ...measuresOf(own),
    })),
    families: rows.flatMap(({ arm, own }) =>
      [...new Set(own.map(({ family }) => family))].map((family) => {
        const right = measures.right[2](own.filter((cell) => cell.family === family));
        return { family, arm, ...json.compact({ right }) };
      }),
    ),
    cells,
  };
}

function measuresOf(cells: readonly Cell[]): Measures {
  const all = Object.entries(measures).map(([name, [, , of]]) => [name, of(cells)]);
  return json.compact(Object.fromEntries(all) as Record<keyof Measures, Interval | undefined>);
}
