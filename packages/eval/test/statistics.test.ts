import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Random } from "../src/random.ts";
import { copyErrors } from "../src/runner/copy-errors.ts";
import { meanOf, ratioOf, shareOf } from "../src/statistics/bootstrap.ts";
import { slow } from "../../../test/support/slow.ts";

/** Counts the experiments whose interval contains the true value. */
function covered(experiments: number, experiment: (random: Random) => boolean): number {
  const random = new Random(5);
  return Array.from({ length: experiments }, () => experiment(random.fork())).filter(Boolean)
    .length;
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

  it("of a constant share is not a single point", () => {
    const always = shareOf(Array.from({ length: 20 }, () => [1, 1] as const));
    expect(always).toMatchObject({ value: 1, high: 1 });
    expect(always?.low).toBeCloseTo(0.839, 2);
  });

  it("is the same for the same samples, and undefined without any", () => {
    expect(meanOf([1, 2, 3])).toEqual(meanOf([1, 2, 3]));
    expect(meanOf([])).toBeUndefined();
    expect(ratioOf([[0, 0]])).toBeUndefined();
  });
});

describe("copy errors", () => {
  it("are the edit distance of any two short texts", slow, () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 40 });
    fc.assert(
      fc.property(letters, letters, (noise, tail) => {
        // Long enough that a text with a few errors still counts as a copy.
        const expected = "abcabcab".repeat(60) + noise;
        const received = "abcabcab".repeat(60) + tail;
        const distance = levenshtein(noise, tail);
        const found = copyErrors(expected, received);
        if (distance > Math.ceil(expected.length * 0.05)) expect(found).toBeUndefined();
        else expect(found?.errors ?? Number.NaN).toBeLessThanOrEqual(Math.max(distance, 20));
        if (found !== undefined && noise.length !== tail.length) {
          expect(found.errors).toBe(levenshtein(expected, received));
        }
      }),
      { numRuns: 100 },
    );
  });

  it("count a single missing character once in a megabyte of text", slow, () => {
    const text = "The quick brown fox. ".repeat(50_000);
    expect(copyErrors(text, text.slice(0, 300) + text.slice(301))?.errors).toBe(1);
    expect(copyErrors(text, `${text.slice(0, 300)}X${text.slice(301)}`)?.errors).toBe(1);
  });

  it("are not counted for a truncated or different text", () => {
    const text = "The quick brown fox. ".repeat(500);
    expect(copyErrors(text, text.slice(0, 5_000))).toBeUndefined();
    expect(copyErrors(text, "z".repeat(text.length))).toBeUndefined();
    expect(copyErrors(text, "")).toBeUndefined();
  });
});

/** The textbook implementation, as a reference. */
function levenshtein(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, same));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
