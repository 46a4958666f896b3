import { describe, expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { comparable, firstChoice, seriesOf, xColumns } from "../src/chart/chart.tsx";
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
});
