import { describe, expect, it } from "vitest";
import { Random } from "../src/random.ts";
import { ratioOf, shareOf } from "../src/results.ts";
import { slow } from "../../../test/support/slow.ts";

/** Counts the experiments whose interval contains the true value. */
function covered(experiments: number, experiment: (random: Random) => boolean): number {
  const random = new Random(5);
  return Array.from({ length: experiments }, () => experiment(new Random(random.next()))).filter(
    Boolean,
  ).length;
}

describe("a confidence interval", () => {
  it("of a share contains the true share nineteen times in twenty, even a rare one", slow, () => {
    for (const share of [0.05, 0.1, 0.5, 0.98]) {
      const hits = covered(100, (random) => {
        const samples = Array.from(
          { length: 60 },
          () => [random.chance(share) ? 1 : 0, 1] as const,
        );
        const { low, high } = shareOf(samples) ?? { low: 1, high: 0 };
        return low <= share && share <= high;
      });
      expect(hits).toBeGreaterThanOrEqual(90);
    }
  });

  it("of a ratio contains the true ratio", slow, () => {
    const hits = covered(100, (random) => {
      const samples = Array.from({ length: 60 }, () => {
        const chars = random.between(500, 4_000);
        const errors = Array.from({ length: chars }, () => random.chance(0.002)).filter(Boolean);
        return [errors.length, chars] as const;
      });
      const { low, high } = ratioOf(samples) ?? { low: 1, high: 0 };
      return low <= 0.002 && 0.002 <= high;
    });
    expect(hits).toBeGreaterThanOrEqual(88);
  });
});
