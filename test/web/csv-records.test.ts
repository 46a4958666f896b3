import { describe, expect, it } from "vitest";
import { csvRecords, recordLines } from "../../src/web/variables/csv-records.ts";

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

  it("says on which line a quote is not closed", () => {
    expect(() => csvRecords('a,b\n1,"x\n')).toThrow(/^Line \d+: .*quote/i);
  });

  it("is sent one record a line", () => {
    expect(recordLines([{ a: "x\ny" }, { a: 1 }])).toBe('{"a":"x\\ny"}\n{"a":1}\n');
  });
});
