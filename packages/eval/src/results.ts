import { json } from "../../../src/internal.ts";
import { arms } from "./arms.ts";
import type { Price } from "./models.ts";
import { type Cell, keyOf } from "./play-cell.ts";
import type { Family } from "./task.ts";
import { Random } from "./random.ts";

export type Unit = "share" | "number" | "dollars";

/** The content of `results.json`. */
export interface Results {
  readonly about: About;
  readonly arms: readonly ArmRow[];
  /** The share of the tasks of a kind that is right. */
  readonly families: readonly { family: Family; arm: string; right?: Interval }[];
  readonly cells: readonly Cell[];
}

interface About {
  readonly byref: string;
  readonly model: string;
  readonly date: string;
  readonly seed: number;
  readonly count: number;
  readonly isQuick: boolean;
  readonly sets: readonly string[];
  readonly price: Price & { readonly of: string };
  /** Why the run ended early. */
  readonly stopped?: string;
}

/** Families with data that can be passed by reference. */
const PASSING: ReadonlySet<Family> = new Set(["bytes", "edit", "ids"]);

/** Returns what a cell adds to a measure: whether it is true, a number, or a fraction; undefined for nothing. */
type Sample = (cell: Cell) => boolean | number | Fraction | undefined;

/** The rows of the table, and the fields of an arm in `results.json`. */
export const measures = {
  right: ["right", "share", ({ isRight }) => isRight],
  intact: ["bytes intact", "share", ({ isIntact }) => isIntact],
  input: ["input tokens", "number", ({ input }) => input],
  cached: ["of them cached", "number", ({ cached }) => cached],
  output: ["output tokens", "number", ({ output }) => output],
  cost: ["cost", "dollars", ({ cost }) => cost],
  calls: ["model calls", "number", ({ calls }) => calls],
  seconds: ["seconds", "number", ({ seconds }) => seconds],
  usedReferences: [
    "references used",
    "share",
    (cell) => (PASSING.has(cell.family) ? cell.usedReferences : undefined),
  ],
  wrongReferences: [
    "wrong references",
    "share",
    ({ references: { wrong, written } }) => (written > 0 ? [wrong, written] : undefined),
  ],
} as const satisfies Record<string, readonly [title: string, unit: Unit, sample: Sample]>;

export type Measures = { readonly [Name in keyof typeof measures]?: Interval };

interface ArmRow extends Measures {
  readonly arm: string;
  readonly tasks: number;
}

/** Computes all figures of finished cells. They do not depend on the order in which cells were finished. */
export function summarize(about: About, finished: readonly Cell[]): Results {
  const cells = finished.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b), "en"));
  const byArm = Map.groupBy(cells, ({ arm }) => arm);
  const rows = arms.flatMap(({ name: arm }) => {
    const own = byArm.get(arm);
    return own === undefined ? [] : [{ arm, own }];
  });
  return {
    about,
    arms: rows.map(({ arm, own }) => ({ arm, tasks: own.length, ...measuresOf(own) })),
    families: rows.flatMap(({ arm, own }) =>
      [...Map.groupBy(own, ({ family }) => family)].map(([family, cells]) => {
        return { family, arm, ...json.compact({ right: measureOf("right", cells) }) };
      }),
    ),
    cells,
  };
}

function measuresOf(cells: readonly Cell[]): Measures {
  const names = Object.keys(measures) as (keyof Measures)[];
  return json.compact(
    Object.fromEntries(names.map((name) => [name, measureOf(name, cells)])) as Record<
      keyof Measures,
      Interval | undefined
    >,
  );
}

function measureOf(name: keyof Measures, cells: readonly Cell[]): Interval | undefined {
  const [, unit, sample]: readonly [string, Unit, Sample] = measures[name];
  const samples = cells.flatMap((cell): readonly Fraction[] => {
    const value = sample(cell);
    if (value === undefined) return [];
    return [typeof value === "object" ? value : [Number(value), 1]];
  });
  return unit === "share" ? shareOf(samples) : ratioOf(samples);
}

/** A value with its interval of 95 %. */
export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly n: number;
}

const RESAMPLES = 2_000;
const TAIL = 0.025;
const SEED = 20_261_125;

/** A sample of a ratio: a sum over a sum, such as errors over characters. */
type Fraction = readonly [of: number, per: number];

/**
 * The sum of the numerators over the sum of the denominators, with a percentile interval of 2,000 bootstrap
 * resamples. Undefined without a denominator. Samples that are all the same give an interval without a width,
 * which is wrong for a share: see `shareOf`. The same samples give the same interval.
 */
export function ratioOf(samples: readonly Fraction[]): Interval | undefined {
  const value = quotient(samples);
  if (value === undefined) return undefined;
  const random = new Random(SEED);
  const last = samples.length - 1;
  const values = Array.from({ length: RESAMPLES }, () => {
    const drawn = samples.map((): Fraction => samples[random.between(0, last)] ?? [0, 0]);
    return quotient(drawn) ?? value;
  }).toSorted((a, b) => a - b);
  const at = (share: number) => values[Math.round(share * (RESAMPLES - 1))] ?? value;
  return { value, low: at(TAIL), high: at(1 - TAIL), n: samples.length };
}

/**
 * A share of trials. The interval is at least Wilson's, so that 20 of 20 is not certainty and few trials claim little.
 */
export function shareOf(samples: readonly Fraction[]): Interval | undefined {
  const found = ratioOf(samples);
  if (found === undefined) return undefined;
  const trials = samples.reduce((sum, [, per]) => sum + per, 0);
  const { low, high } = wilson(found.value, trials);
  return { ...found, low: Math.min(found.low, low), high: Math.max(found.high, high) };
}

const Z = 1.96;

function wilson(share: number, trials: number): { readonly low: number; readonly high: number } {
  const scale = 1 + Z ** 2 / trials;
  const middle = (share + Z ** 2 / (2 * trials)) / scale;
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / trials + Z ** 2 / (4 * trials ** 2));
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

function quotient(samples: readonly Fraction[]): number | undefined {
  let of = 0;
  let per = 0;
  for (const sample of samples) {
    of += sample[0];
    per += sample[1];
  }
  return per === 0 ? undefined : of / per;
}
