/** The middle of so many samples, and the range of most of them. */
export interface Spread {
  readonly median: number;
  /** 10 % of the samples are below, 10 % above; of fewer than ten: the lowest, the highest. */
  readonly low: number;
  readonly high: number;
  readonly samples: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const few = sorted.length < 10;
  return {
    median: median(values),
    low: quantile(sorted, few ? 0 : 0.1),
    high: quantile(sorted, few ? 1 : 0.9),
    samples: sorted.length,
  };
}

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

function quantile(sorted: readonly number[], at: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN;
}

/** Of medians, which few bad samples do not move; its range is that of the rounds' own ratios. */
export function ratioOf(ours: readonly number[], others: readonly number[]): Spread {
  const own = ours.map((value, round) => value / (others[round] ?? Number.NaN));
  return { ...spreadOf(own), median: median(ours) / median(others) };
}

/**
 * Each side's samples, taken in turns: whoever comes first in one round comes last in the next, so that what
 * else the machine does meets all of them alike.
 */
export async function interleave<Side extends string>(
  sides: readonly Side[],
  rounds: number,
  run: (side: Side, round: number) => Promise<number>,
): Promise<Readonly<Record<Side, readonly number[]>>> {
  const samples = new Map(sides.map((side): [Side, number[]] => [side, []]));
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? sides : sides.toReversed();
    for (const side of order) samples.get(side)?.push(await run(side, round));
  }
  // All of `sides`, and no others.
  return Object.fromEntries(samples) as Record<Side, number[]>;
}

/**
 * The exponent of a power law through these points, by least squares on logarithms: 0 does not grow, 1 grows
 * as its cause does.
 */
export function exponentOf(points: readonly { readonly x: number; readonly y: number }[]): number {
  const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = mean(logs.map(({ x }) => x));
  const level = mean(logs.map(({ y }) => y));
  const along = mean(logs.map(({ x }) => (x - middle) ** 2));
  return mean(logs.map(({ x, y }) => (x - middle) * (y - level))) / along;
}
