import { readFileSync, writeFileSync } from "node:fs";
import { ratioOf, type Spread, spreadOf } from "./statistics.ts";

/** A figure with a goal, or one shown next to it. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The maximum. Null: no goal. */
  readonly goal: number | null;
  readonly met: boolean | null;
  /** The side that `value` is a multiple of, or is compared with. */
  readonly against: string | null;
  /** The range of `value`, if it varies. */
  readonly low?: number;
  readonly high?: number;
  /** The values of each side, in `sidesUnit`. */
  readonly sides?: Readonly<Record<string, Spread>>;
  readonly sidesUnit?: string;
  readonly note?: string;
}

export interface Results {
  readonly rows: readonly Row[];
  readonly versions: Readonly<Record<string, string>>;
  readonly machine: Readonly<Record<string, string | number | boolean>>;
}

type Given = Pick<Row, "name"> & Partial<Row>;

/** A row with a figure, and the values of other sides. */
export function plainRow(
  row: Given & Pick<Row, "value" | "unit">,
  goal: number | null = null,
): Row {
  return { against: null, ...row, goal, met: goal === null ? null : row.value <= goal };
}

export interface Comparison {
  readonly name: string;
  /** A value for each round, by side. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  readonly unit: string;
  /** The maximum ratio of Byref to each side; null: no goal. */
  readonly against: Readonly<Record<string, number | null>>;
}

/** A row for each side that Byref is compared with. */
export function ratioRows({ name, samples, unit, against }: Comparison): readonly Row[] {
  const all = Object.fromEntries(
    Object.entries(samples).map(([side, values]) => [side, spreadOf(values)]),
  );
  return Object.entries(against).flatMap(([side, goal]) => {
    const others = samples[side];
    if (others === undefined || samples.ours === undefined) return [];
    const { median: value, low, high } = ratioOf(samples.ours, others);
    const row = { name: `${name}: against ${side}`, value, low, high, against: side };
    return [plainRow({ ...row, unit: "times", sides: all, sidesUnit: unit }, goal)];
  });
}

/** Prints the results and adds them to the results of this run. */
export function report({ rows }: Pick<Results, "rows">): void {
  for (const row of rows) console.log(lineOf(row));
  const path = process.env.BENCH_RESULTS;
  if (path === undefined) return;
  const previous = readResults(path);
  const names = new Set(rows.map(({ name }) => name));
  writeResults(path, {
    ...previous,
    rows: [...previous.rows.filter(({ name }) => !names.has(name)), ...rows],
  });
}

export function readResults(path: string): Results {
  // Written by `writeResults`.
  return JSON.parse(readFileSync(path, "utf8")) as Results;
}

export function writeResults(path: string, results: Results): void {
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`);
}

function lineOf({ name, value, unit, goal, met, sides = {}, sidesUnit = unit }: Row): string {
  const others = Object.entries(sides).map(([side, spread]) => `${side} ${shownSpread(spread)}`);
  const aim = goal === null ? "" : ` (goal ${goal}${met === true ? "" : ", MISSED"})`;
  const beside = others.length === 0 ? "" : ` | ${others.join(", ")} ${sidesUnit}`;
  return `${name}: ${shown(value)} ${unit}${aim}${beside}`;
}

export function shownSpread({ median, low, high, samples }: Spread): string {
  const isSure = samples === 1 || (low === median && high === median);
  return isSure ? shown(median) : `${shown(median)} (${shown(low)} to ${shown(high)})`;
}

/** Formats with three significant digits; numbers from a hundred on are whole. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}
