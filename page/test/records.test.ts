import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import {
  cellOf,
  columnsOf,
  filtered,
  findingQuery,
  sorted,
  textOf,
} from "../src/variables/records.ts";

const rowsOf = (...values: Json[]) => values.map((value, index) => ({ index, value }));
const indices = (rows: readonly { index: number }[]) => rows.map(({ index }) => index);

describe("the columns of a table", () => {
  it("are those of all inspected rows, in order of appearance", () => {
    const columns = columnsOf(rowsOf({ a: 1, b: "xy" }, { b: null, c: 2 }, { a: null }));
    expect(columns).toEqual([
      { name: "a", isNumeric: true, digits: 0, width: 1 },
      { name: "b", isNumeric: false, digits: 0, width: 2 },
      { name: "c", isNumeric: true, digits: 0, width: 1 },
    ]);
  });

  it("are a single one for values that are not records", () => {
    const rows = rowsOf(7, 1_000);
    expect(columnsOf(rows)).toEqual([{ name: "value", isNumeric: true, digits: 0, width: 5 }]);
    expect(cellOf({ index: 0, value: 7 }, "value")).toBe(7);
    expect(cellOf({ index: 0, value: {} }, "constructor")).toBeUndefined();
    expect(textOf({ a: [1] }, { name: "value" })).toBe('{"a":[1]}');
  });
});

describe("sorting", () => {
  const rows = rowsOf({ n: 10 }, { n: null }, { n: 9 }, { n: "x2" }, {}, { n: "x10" }, { n: 9 });

  it("puts numbers before texts and empty cells last, in both directions", () => {
    expect(indices(sorted(rows, { column: "n", isDescending: false }))).toEqual([
      2, 6, 0, 3, 5, 1, 4,
    ]);
    expect(indices(sorted(rows, { column: "n", isDescending: true }))).toEqual([
      5, 3, 0, 2, 6, 1, 4,
    ]);
  });
});

describe("filtering", () => {
  it("keeps rows with a cell that contains the text, in any case", () => {
    const rows = rowsOf({ who: "Ada Ito", n: 1_234.5 }, { who: "Ada Abara", n: 12 }, "Ada 12");
    const foundBy = (text: string) => indices(filtered(rows, text));
    expect([foundBy("ADA 12"), foundBy("1,234"), foundBy("ito 1")]).toEqual([[2], [0], []]);
    expect(filtered(rows, "  ")).toBe(rows);
  });

  it.each(["école", "ÉCOLE", "Straße", "o'", "ŽIŽKOV", "100%"])(
    "finds %j by a query as in memory",
    (filter) => {
      const words = ["École d'été", "STRASSE, Straße", "žižkov", "100 %", "O'Neill", "100%"];
      const rows = rowsOf(...words.map((word) => ({ word })));
      const sql = findingQuery("orders", columnsOf(rows), { filter, sorting: undefined }) ?? "";
      const table = `WITH orders AS (SELECT key AS "index", value AS word FROM json_each(?)) ${sql}`;
      const found = new DatabaseSync(":memory:").prepare(table).all(JSON.stringify(words));
      const positions = found.map(({ at }) => Number(at));
      expect(positions).toEqual(indices(filtered(rows, filter)));
      expect(positions).not.toEqual([]);
    },
  );
});
