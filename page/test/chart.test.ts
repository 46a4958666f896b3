import { describe, expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { valueScale } from "../src/chart/chart-scale.ts";
import {
  comparable,
  firstChoice,
  seriesOf,
  summariesOf,
  xColumns,
} from "../src/chart/chart-series.ts";
import { columnsOf } from "../src/variables/records.ts";

const rowsOf = (values: readonly Json[]) => values.map((value, index) => ({ index, value }));
const choiceOf = (values: readonly Json[]) =>
  firstChoice(columnsOf(rowsOf(values)), rowsOf(values));

describe("a chart's default view", () => {
  it("plots columns of similar size, along the dates if there are any", () => {
    const values = [
      { name: "a", month: "2025-01", orders: 424, total: 90_900, tax: 18_000, id: 1 },
      { name: "b", month: "2025-02", orders: 384, total: 85_956, tax: 17_000, id: 2 },
    ];
    expect(choiceOf(values)).toEqual({ x: "month", y: ["total", "tax"], form: "bar" });
    expect(xColumns(columnsOf(rowsOf(values)), rowsOf(values))).toEqual(["month", "name"]);
  });
});

describe("series", () => {
  const rows = rowsOf([
    { n: 1, m: 1_000 },
    { n: null, m: "x" },
    { n: 3, m: 3_000 },
  ]);
  const series = seriesOf(rows, ["n", "m"]);

  it("are drawn apart if one would make the other unreadable", () => {
    expect(comparable(series).map((group) => group.map(({ name }) => name))).toEqual([
      ["m"],
      ["n"],
    ]);
    const near = seriesOf(rowsOf([{ a: 1, b: 20 }]), ["a", "b"]);
    expect(comparable(near)).toHaveLength(1);
  });

  it("are summarized in words for screen readers", () => {
    const [summary] = summariesOf([...series, { name: "none", values: [null] }]);
    expect(summary).toBe("n: 2 values from 1 to 3, 2 on average");
    expect(summariesOf([{ name: "none", values: [null] }])).toEqual([]);
  });
});

describe("scales", () => {
  const tall = { height: 240, fromZero: false };

  it("have room for negative values and for a single value", () => {
    const scale = valueScale([{ name: "n", values: [-5, 5] }], { height: 100, fromZero: true });
    expect(scale.place(0)).toBeCloseTo(50);
    const below = valueScale([{ name: "n", values: [-5, -1] }], { height: 100, fromZero: true });
    expect(below.place(0)).toBeCloseTo(0);
    for (const values of [[7], [0], [], [null]]) {
      const { place, ticks } = valueScale([{ name: "n", values }], tall);
      expect(Number.isFinite(place(7))).toBe(true);
      expect(ticks.length).toBeGreaterThan(1);
    }
  });
});
