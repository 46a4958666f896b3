import { describe, expect, it } from "vitest";
import { Random } from "../src/random.ts";
import { ratioOf, shareOf } from "../src/results.ts";
import { slow } from "../../../test/support/slow.ts";

type Sample = Parameters<typeof ratioOf>[0][number];

/** Counts the experiments of 60 samples, among 100, whose interval contains the true value. */
function covered(
  value: number,
  intervalOf: typeof ratioOf,
  sample: (random: Random) => Sample,
): number {
  const seeds = new Random(5);
  const experiments = Array.from({ length: 100 }, () => {
    const random = new Random(seeds.next());
    return intervalOf(Array.from({ length: 60 }, () => sample(random)));
  });
  return experiments.filter((found) => found && found.low <= value && value <= found.high).length;
}

describe("a confidence interval", () => {
  it("of a share contains the true share nineteen times in twenty, even a rare one", slow, () => {
    for (const share of [0.05, 0.1, 0.5, 0.98]) {
      const hits = covered(share, shareOf, (random) => [random.chance(share) ? 1 : 0, 1]);
      expect(hits).toBeGreaterThanOrEqual(90);
    }
  });

  it("of a ratio contains the true ratio", slow, () => {
    const hits = covered(0.002, ratioOf, (random) => {
      const chars = random.between(500, 4_000);
      const errors = Array.from({ length: chars }, () => random.chance(0.002)).filter(Boolean);
      return [errors.length, chars];
    });
    expect(hits).toBeGreaterThanOrEqual(88);
  });
});
