import { expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { firstChoice, timeIn, valueScale, xColumns } from "../src/chart/chart.tsx";
import { columnsOf } from "../src/variables/records.ts";

const rowsOf = (values: readonly Json[]) => values.map((value, index) => ({ index, value }));
const choiceOf = (values: readonly Json[]) =>
  firstChoice(columnsOf(rowsOf(values)), rowsOf(values));

it("a chart's default view plots columns of similar size, along the dates if there are any", () => {
  const values = [
    { name: "a", month: "2025-01", orders: 424, total: 90_900, tax: 18_000, id: 1 },
    { name: "b", month: "2025-02", orders: 384, total: 85_956, tax: 17_000, id: 2 },
  ];
  expect(choiceOf(values)).toEqual({ x: "month", y: ["total", "tax"], form: "Bars" });
  expect(xColumns(columnsOf(rowsOf(values)), rowsOf(values))).toEqual(["month", "name"]);
});

it.each([
  ["2025-01", "2025-01-01T00:00:00.000Z"],
  ["2025-03-30", "2025-03-30T00:00:00.000Z"],
  ["2025-03-30 02:30", "2025-03-30T02:30:00.000Z"],
  ["2025-03-30T02:30:01.5", "2025-03-30T02:30:01.500Z"],
  ["2025-01-01T10:00Z", "2025-01-01T10:00:00.000Z"],
  ["2025-01-01 10:00+0200", "2025-01-01T08:00:00.000Z"],
])("%s is the same time in each browser (palantir/plottable#1868)", (text, iso) => {
  const before = process.env["TZ"];
  process.env["TZ"] = "Europe/Berlin";
  expect(new Date(timeIn(text)).toISOString()).toBe(iso);
  process.env["TZ"] = before;
});

it.each([0, -3, 1_700_000_000_000_000_000, 1e300])(
  "values that are all %d have a place",
  (value) => {
    const { place } = valueScale([{ name: "a", values: [value, value] }], {
      height: 200,
      fromZero: false,
    });
    expect(place(value)).toBeGreaterThan(0);
    expect(place(value)).toBeLessThan(200);
  },
);
