import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvRecords, recordLines } from "../src/variables/csv-records.ts";
import { csvRows } from "../src/variables/csv-rows.ts";

describe("a CSV as records", () => {
  it("has numbers where every filled cell of the column is one", () => {
    const text = "city,temp,zip,id\r\nOslo,-3.5,0150,1e3\r\nRome,,00118,2\r\n";
    expect(csvRecords(text)).toEqual([
      { city: "Oslo", temp: -3.5, zip: "0150", id: 1000 },
      { city: "Rome", temp: null, zip: "00118", id: 2 },
    ]);
  });

  it("keeps a column as it is written when one cell is no number", () => {
    expect(csvRecords("a\n1\nx\n")).toEqual([{ a: "1" }, { a: "x" }]);
    expect(csvRecords("a\n1\n,\n")).toMatchObject([{ a: 1 }]);
  });

  it("keeps digits that a number would lose", () => {
    expect(csvRecords("id\n12345678901234567890\n")).toEqual([{ id: "12345678901234567890" }]);
    expect(csvRecords("id\n0.000000000000000001\n")).toEqual([{ id: 1e-18 }]);
  });

  it("reads quotes, separators and line feeds in cells, and other delimiters", () => {
    const text = '\uFEFFname;note\n"A; B";"she said ""hi""\nand left"\n';
    expect(csvRecords(text)).toEqual([{ name: "A; B", note: 'she said "hi"\nand left' }]);
    expect(csvRecords("a\tb\n1\t2\n")).toEqual([{ a: 1, b: 2 }]);
  });

  it("gives every column a name of its own", () => {
    expect(csvRecords("a,,a\n1,2,3,4\n")).toEqual([{ a: 1, column_2: 2, a_2: 3, column_4: 4 }]);
  });

  it("leaves out empty lines, and is empty without rows", () => {
    expect(csvRecords("a,b\n\n1,2\n \n")).toEqual([{ a: 1, b: 2 }]);
    expect(csvRecords("a,b\n")).toEqual([]);
  });

  it("tells the delimiter by all of the first rows", () => {
    expect(csvRecords("name;one, or two\nA;1\n")).toEqual([{ name: "A", "one, or two": 1 }]);
    expect(csvRecords('"a, b"|"c"\r1|2\r')).toEqual([{ "a, b": 1, c: 2 }]);
    expect(csvRecords("word\none\ntwo")).toEqual([{ word: "one" }, { word: "two" }]);
  });

  it("takes a quote within a cell as it is", () => {
    expect(csvRecords('size,of\n5" wide,"a ""pipe"""\n')).toEqual([
      { size: '5" wide', of: 'a "pipe"' },
    ]);
  });

  it("reads back whatever is written in quotes", () => {
    const cell = fc.string({ unit: fc.constantFrom("a", '"', ",", ";", "\n", "\r", " ", "ü") });
    const written = (text: string) => `"${text.replaceAll('"', '""')}"`;
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell)), fc.constantFrom("\n", "\r\n"), (rows, end) => {
        const all = [["key", "a", "b"], ...rows.map((row, at) => [`row ${at}`, ...row])];
        const text = all.map((row) => row.map(written).join(",") + end).join("");
        expect(csvRows(text)).toEqual(all);
      }),
    );
  });

  it("says on which line a quote is not closed, or followed by something", () => {
    expect(() => csvRecords('a,b\n1,"x\n')).toThrow(/^Line 2: .*quote/);
    expect(() => csvRecords('a,b\r\n"x\ny",2\r\n"x"y,3\r\n')).toThrow(/^Line 4: .*quote/);
  });

  it("is sent one record a line", () => {
    expect(recordLines([{ a: "x\ny" }, { a: 1 }])).toBe('{"a":"x\\ny"}\n{"a":1}\n');
  });
});
