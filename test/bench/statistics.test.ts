import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerTo, type Load, loadIn, questionFor } from "../../bench/load.ts";
import { plainRow, ratioRows, shown } from "../../bench/results.ts";
import { exponentOf, interleave, median, ratioOf, spreadOf } from "../../bench/statistics.ts";

describe("the statistics of benchmark samples", () => {
  it("take the median, and drop a tenth at each end of ten samples or more", () => {
    expect(median([5, 1, 100])).toBe(5);
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, low: 1, high: 3, samples: 3 });
    const twenty = Array.from({ length: 20 }, (_, index) => index);
    expect(spreadOf(twenty)).toEqual({ median: 10, low: 2, high: 18, samples: 20 });
  });

  it("divide the medians, and take the range from the ratios of the rounds", () => {
    const ratio = ratioOf([1, 2, 30], [2, 2, 10]);
    expect(ratio).toMatchObject({ median: 1, low: 0.5, high: 3 });
  });

  it("interleave the sides, and reverse their order in each round", async () => {
    const order: string[] = [];
    const samples = await interleave(["a", "b", "c"], 3, async (side, round) => {
      order.push(side);
      return round;
    });
    expect(order.join("")).toBe("abccbaabc");
    expect(samples).toEqual({ a: [0, 1, 2], b: [0, 1, 2], c: [0, 1, 2] });
  });

  it.each([0, 0.5, 1, 2])("find the exponent %d of a power law", (exponent) => {
    const points = [1, 10, 100, 2_000].map((x) => ({ x, y: 3 * x ** exponent }));
    expect(exponentOf(points)).toBeCloseTo(exponent, 10);
  });
});

describe("a result row", () => {
  it("is met up to its goal, and not above it", () => {
    const row = { name: "r", unit: "rows" };
    expect(plainRow({ ...row, value: 12 }, 12).met).toBe(true);
    expect(plainRow({ ...row, value: 12.1 }, 12).met).toBe(false);
    expect(plainRow({ ...row, value: 12 }).met).toBeNull();
  });

  it("compares Byref only with the peers that were measured", () => {
    const samples = { ours: [1, 1], bare: [2, 2] };
    const rows = ratioRows({ name: "r", samples, unit: "ms", against: { bare: 0.4, peer: 0.1 } });
    expect(rows.map(({ name, value, met }) => ({ name, value, met }))).toEqual([
      { name: "r: against bare", value: 0.5, met: false },
    ]);
  });

  it("shows three significant digits", () => {
    expect([0.01294, 7.456, 39_068.4, Number.NaN].map(shown)).toEqual([
      "0.0129",
      "7.46",
      "39,068",
      "–",
    ]);
  });
});

describe("a question of a bench", () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/u);
  const loads = fc.record(
    {
      deltas: fc.nat(1_000),
      gapMs: fc.constantFrom(0, 2.15, 20),
      calls: fc.nat(9),
      isSerial: fc.boolean(),
      word,
      tool: word,
      say: fc.constantFrom("$report", "$a.b[0]"),
    },
    { requiredKeys: ["deltas", "gapMs", "calls", "isSerial"] },
  );

  it("contains its whole load, inside any JSON", () => {
    fc.assert(
      fc.property(loads, (load: Load) => {
        const sent = JSON.stringify([{ type: "text", text: questionFor(load) }]);
        expect(loadIn(sent)).toEqual(load);
      }),
    );
  });

  it("is answered with that many deltas", () => {
    expect(answerTo({ deltas: 2, gapMs: 0, word: "w" })).toBe("w.0 w.1 ");
  });
});
