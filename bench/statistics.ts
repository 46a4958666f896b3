/** The median of the samples, and the range of most of them. */
export interface Spread {
  readonly median: number;
  /** The 10th percentile, and in `high` the 90th; with fewer than ten samples, the minimum and the maximum. */
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

/** The value below which this share of the sorted values lies. */
export function quantile(sorted: readonly number[], at: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN;
}

/** The ratio of the medians, which few outliers do not affect; its range is that of the rounds' ratios. */
export function ratioOf(ours: readonly number[], others: readonly number[]): Spread {
  const own = ours.map((value, round) => value / (others[round] ?? Number.NaN));
  return { ...spreadOf(own), median: median(ours) / median(others) };
}

/**
 * Takes the samples of all sides in turn. The order alternates between rounds, so that other load on the
 * machine affects all sides alike.
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
