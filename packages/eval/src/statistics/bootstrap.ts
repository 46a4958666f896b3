import { Random } from "../random.ts";

/** A value with its interval of 95 %. */
export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Number of samples. */
  readonly n: number;
}

const RESAMPLES = 2_000;
const TAIL = 0.025;
const SEED = 20_261_125;

/** A sample of a ratio: a sum over a sum, such as errors over characters. */
export type Fraction = readonly [of: number, per: number];

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

/** The mean of the values. Undefined if there are none. */
export function meanOf(values: readonly number[]): Interval | undefined {
  return ratioOf(values.map((value) => [value, 1]));
}

/**
 * A share of trials. The interval is at least Wilson's, so that 20 of 20 is not certainty and few trials
 * claim little.
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
