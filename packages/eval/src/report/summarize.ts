import { compact } from "../../../../src/value/json.ts";
import { type ArmName, armNames } from "../arms/arm.ts";
import { type Cell, keyOf } from "../runner/cell.ts";
import { type Fraction, type Interval, meanOf, ratioOf, shareOf } from "../statistics/bootstrap.ts";
import type { Family } from "../tasks/task.ts";
import type {
  About,
  ArmRow,
  Comparison,
  FamilyRow,
  Measures,
  Results,
  SizeRow,
} from "./results.ts";

/** Families with data that can be passed by reference. */
const PASSING: ReadonlySet<Family> = new Set(["bytes", "edit", "ids", "wrong reference"]);

/** Computes all figures of finished cells. They do not depend on the order in which cells were finished. */
export function summarize(about: About, finished: readonly Cell[]): Results {
  const cells = finished.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b), "en"));
  const arms = armNames.filter((name) => cells.some(({ arm }) => arm === name));
  const of = (arm: ArmName) => cells.filter((cell) => cell.arm === arm);
  const [first = "by value"] = arms;
  return {
    about,
    arms: arms.map((arm) => armRow(arm, of(arm))),
    families: arms.flatMap((arm) => familyRows(arm, of(arm))),
    sizes: arms.flatMap((arm) => sizeRows(arm, of(arm))),
    comparisons: arms
      .filter((arm) => arm !== first)
      .map((arm) => compareCells(of(arm), of(first), { arm, against: first })),
    cells,
  };
}

function armRow(arm: ArmName, cells: readonly Cell[]): ArmRow {
  return {
    arm,
    tasks: cells.length,
    didNotFit: cells.filter(({ ending }) => ending === "did not fit").length,
    ...measuresOf(cells),
  };
}

/** Returns the columns of these cells. */
function measuresOf(cells: readonly Cell[]): Measures {
  const copies = cells.flatMap(({ copied }) => (copied === undefined ? [] : [copied]));
  const failed = cells.flatMap(({ recovered }) => (recovered === undefined ? [] : [recovered]));
  const used = cells.flatMap(({ usedReferences, family }) =>
    usedReferences === undefined || !PASSING.has(family) ? [] : [usedReferences],
  );
  const references = cells
    .map(({ references: { wrong, written } }): Fraction => [wrong, written])
    .filter(([, written]) => written > 0);
  const defined = (key: "cost" | "recoverySteps") =>
    cells.flatMap(({ [key]: value }) => (value === undefined ? [] : [value]));
  return compact({
    right: sharesOf(cells.map(({ isRight }) => isRight)),
    intact: sharesOf(cells.flatMap(({ isIntact }) => (isIntact === undefined ? [] : [isIntact]))),
    copyErrors: ratioOf(copies.map(({ errors, chars }): Fraction => [errors * 1_000, chars])),
    input: meanOf(cells.map(({ input }) => input)),
    cached: meanOf(cells.map(({ cached }) => cached)),
    output: meanOf(cells.map(({ output }) => output)),
    cost: meanOf(defined("cost")),
    calls: meanOf(cells.map(({ calls }) => calls)),
    seconds: meanOf(cells.map(({ seconds }) => seconds)),
    wrongReferences: shareOf(references),
    usedReferences: sharesOf(used),
    recoverySteps: meanOf(defined("recoverySteps")),
    recovered: sharesOf(failed),
  });
}

function sharesOf(outcomes: readonly boolean[]): Interval | undefined {
  return shareOf(outcomes.map((is): Fraction => [is ? 1 : 0, 1]));
}

function familyRows(arm: ArmName, cells: readonly Cell[]): readonly FamilyRow[] {
  return distinct(cells.map(({ family }) => family)).map((family) => {
    const own = cells.filter((cell) => cell.family === family);
    return { family, arm, ...compact({ right: sharesOf(own.map(({ isRight }) => isRight)) }) };
  });
}

/** Rows by document size. Sizes are the same in all arms. */
function sizeRows(arm: ArmName, cells: readonly Cell[]): readonly SizeRow[] {
  const documents = cells.filter(({ family }) => family === "bytes");
  return distinct(documents.map(({ size }) => size)).map((size) => {
    const own = documents.filter((cell) => cell.size === size);
    return {
      size,
      arm,
      ...compact({ intact: sharesOf(own.map(({ isIntact }) => isIntact === true)) }),
    };
  });
}

/** Compares cells of the same tasks, pair by pair. */
function compareCells(
  own: readonly Cell[],
  others: readonly Cell[],
  names: Pick<Comparison, "arm" | "against">,
): Comparison {
  const other = new Map(others.map((cell) => [cell.task, cell]));
  const pairs = own.flatMap((cell) => {
    const found = other.get(cell.task);
    return found === undefined ? [] : [[cell, found] as const];
  });
  const priced = pairs.filter(([a, b]) => a.cost !== undefined && b.cost !== undefined);
  return {
    ...names,
    tasks: pairs.length,
    won: pairs.filter(([a, b]) => a.isRight && !b.isRight).length,
    lost: pairs.filter(([a, b]) => !a.isRight && b.isRight).length,
    ...compact({
      right: meanOf(pairs.map(([a, b]) => Number(a.isRight) - Number(b.isRight))),
      cost: ratioOf(priced.map(([a, b]): Fraction => [a.cost ?? 0, b.cost ?? 0])),
      tokens: ratioOf(pairs.map(([a, b]): Fraction => [tokensOf(a), tokensOf(b)])),
    }),
  };
}

function tokensOf({ input, output }: Cell): number {
  return input + output;
}

function distinct<Value>(values: readonly Value[]): readonly Value[] {
  return [...new Set(values)];
}
