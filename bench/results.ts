import { readFileSync, writeFileSync } from "node:fs";
import { ratioOf, type Spread, spreadOf } from "./statistics.ts";

/** A figure of the project's goals, or one that belongs beside them. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** At most that. Null: it is only told. */
  readonly goal: number | null;
  readonly met: boolean | null;
  /** Whom `value` is a multiple of, or is compared with. */
  readonly against: string | null;
  /** Of `value`, where it varies. */
  readonly low?: number;
  readonly high?: number;
  /** What each side had, in `sidesUnit`. */
  readonly sides?: Readonly<Record<string, Spread>>;
  readonly sidesUnit?: string;
  readonly note?: string;
}

/** How a time grows with something. */
export interface Curve {
  readonly name: string;
  /** What grows, and its unit. */
  readonly x: string;
  readonly unit: string;
  readonly lines: Readonly<Record<string, readonly Point[]>>;
  /** Of a power law through each line's medians. */
  readonly exponents: Readonly<Record<string, number>>;
}

export interface Point extends Spread {
  readonly x: number;
}

export interface Results {
  readonly rows: readonly Row[];
  readonly curves: readonly Curve[];
  /** What else a bench has to say, in Markdown, by name. */
  readonly texts: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly machine: Readonly<Record<string, string | number | boolean>>;
}

type Given = Pick<Row, "name"> & Partial<Row>;

/** A figure as it is, with what the others had. */
export function plainRow(
  row: Given & Pick<Row, "value" | "unit">,
  goal: number | null = null,
): Row {
  return { against: null, ...row, goal, met: goal === null ? null : row.value <= goal };
}

export interface Comparison {
  readonly name: string;
  /** Round by round. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  readonly unit: string;
  /** Ours is at most so many times of each of them; without a number it is only told. */
  readonly against: Readonly<Record<string, number | null>>;
}

/** A row for each whom ours is compared with. */
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

/** Prints them, and adds them to the results of this run. */
export function report(found: Partial<Pick<Results, "rows" | "curves" | "texts">>): void {
  for (const row of found.rows ?? []) console.log(lineOf(row));
  for (const { name, exponents } of found.curves ?? []) {
    const grown = Object.entries(exponents).map(([line, exponent]) => `${line} ${shown(exponent)}`);
    console.log(`${name}: exponents ${grown.join(", ")}`);
  }
  for (const text of Object.values(found.texts ?? {})) console.log(`\n${text}`);
  const path = process.env.BENCH_RESULTS;
  if (path === undefined) return;
  const had = readResults(path);
  const names = new Set(found.rows?.map(({ name }) => name));
  writeResults(path, {
    ...had,
    rows: [...had.rows.filter(({ name }) => !names.has(name)), ...(found.rows ?? [])],
    curves: [...had.curves, ...(found.curves ?? [])],
    texts: { ...had.texts, ...found.texts },
  });
}

export function readResults(path: string): Results {
  // Written below.
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

/** Three digits that count; whole from a hundred on. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}
