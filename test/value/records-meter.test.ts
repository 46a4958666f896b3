import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { parseRecords } from "../../src/value/records-text.ts";
import type { Json } from "../../src/value/json.ts";
import { spanOf } from "../../src/value/marks.ts";
import { RecordsMeter } from "../../src/value/records-meter.ts";
import { previewOf } from "../../src/value/preview.ts";
import { shapeOf } from "../../src/value/shape.ts";
import { faultsOf, runMeter } from "../support/run-meter.ts";
import { slow } from "../support/slow.ts";

const withCode = (code: string, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });

const runRecords = (text: string, lengths?: readonly number[]) =>
  runMeter(new RecordsMeter(), Buffer.from(text), lengths);

describe("a records meter", () => {
  function expectAbout(all: string, texts: readonly string[], values: readonly Json[]) {
    return {
      type: "array",
      count: values.length,
      bytes: Buffer.byteLength(all),
      chars: `[${texts.join(",")}]`.length,
      shape: shapeOf(values),
      preview: previewOf(values),
    };
  }

  it.each([
    ["nothing", "", []],
    ["line ends only", "\n\r\n \t\r\n", []],
    ["blanks only", " \t \r", []],
    ["a byte order mark", "\uFEFF", []],
    ["a byte order mark before a blank line", "\uFEFF\r\n1\n", ["1"]],
    ["a byte order mark before blanks", "\uFEFF  {}\n", ["{}"]],
    ["a byte order mark inside the first text", '{"a":"\uFEFF"}\n', ['{"a":"\uFEFF"}']],
    ["one record without a line end", '{"a":1}', ['{"a":1}']],
    ["one record with blanks instead of a line end", '{"a":1} \t\r', ['{"a":1}']],
    ["CRLF", '{"a":1}\r\n{"a":2}\r\n', ['{"a":1}', '{"a":2}']],
    ["blank lines", '\n\n{"a":1}\n\n \n{"a":2}\n\n', ['{"a":1}', '{"a":2}']],
    ["a carriage return inside a record", '{"a":\r1}\r\n', ['{"a":\r1}']],
    [
      "line separators that are not line ends in NDJSON",
      '"\u2028"\n"\u0085"\n',
      ['"\u2028"', '"\u0085"'],
    ],
    ["scalars", '1\nnull\n"x"\ntrue\n', ["1", "null", '"x"', "true"]],
  ])("reads %s", (_name, text, records) => {
    for (const lengths of [[1], [2], [3], [Infinity]]) {
      const { about, marks } = runRecords(text, lengths);
      expect(about).toEqual(
        expectAbout(
          text,
          records,
          records.map((record): Json => JSON.parse(record)),
        ),
      );
      expect(marks).toEqual(records.length === 0 ? [] : [[0, 0]]);
    }
  });

  it("marks records so that any slice can be read from its span", () => {
    const lines = Array.from({ length: 30_000 }, (_, id) => ` {"id":${id},"name":"語 😀"}\r\n\n`);
    const records = lines.toSpliced(9_000, 0, `"${"語".repeat(100_000)}"\n`);
    const values = records.map((record): Json => JSON.parse(record));
    for (const lengths of [[100, 65_535], [100_003], [Infinity]]) {
      const { stored, about, marks } = runRecords(`\uFEFF${records.join("")}`, lengths);
      expect(about.count).toBe(values.length);
      expect(marks.length).toBeGreaterThan(4);
      expect(faultsOf(marks, { bytes: about.bytes, slack: 300_003 })).toEqual([]);
      const counts = marks.map(([, count]) => count);
      for (const from of [0, 1, 8_999, 9_000, 9_001, ...counts]) {
        const to = Math.min(from + 2, values.length);
        const span = spanOf(marks, about, { from, to });
        const read = parseRecords(stored.subarray(span.fromByte, span.toByte).toString());
        const slice = read.slice(from - span.firstCount, to - span.firstCount);
        expect(slice).toEqual(values.slice(from, to));
      }
    }
  });

  it.each([
    ["invalid JSON", '{"a":1}\n\n{"a":2}\n \n{"a":\n{"a":4}\n', 3, 5],
    ["invalid JSON in the first line", "\uFEFFx\n", 1, 1],
    ["two values in a line", "1\n1 2\n", 2, 2],
    ["values separated by a comma", "1,2\n[3\n4]\n", 1, 1],
    ["an array across several lines", "[1,\n2]\n", 1, 1],
    ["a truncated record", '{"a":1}\n{"a":', 2, 2],
    ["a byte order mark after the start", "1\n\uFEFF2\n", 2, 2],
    // http4s/http4s#3122
    ["a byte order mark after blanks", " \t\uFEFF1\n", 1, 1],
    ["a carriage return as a line end", "1\r2\r", 1, 1],
    ["a no-break space", "\u00a01\n", 1, 1],
  ])("refuses %s, and says where it is", (...[, text, record, line]) => {
    for (const lengths of [[1], [2], [Infinity]]) {
      const refused = withCode("bad_json", { record, line });
      expect(() => runRecords(text, lengths)).toThrow(refused);
      const said = `Record ${record} (line ${line}) is not JSON: `;
      expect(() => runRecords(text, lengths)).toThrow(said);
    }
  });

  it.each([
    ['"é"\n\n2\n', 3, 4, "not UTF-8"],
    ["1\nx\n2\n", 2, 2, "not JSON"],
  ])("refuses invalid UTF-8 after %j, unless that is invalid", (...[start, record, line, said]) => {
    const bytes = Buffer.concat([Buffer.from(start), Uint8Array.of(0x22, 0xe9, 0x22, 0x0a)]);
    for (const lengths of [[1], [3], [Infinity]]) {
      const read = () => runMeter(new RecordsMeter(), bytes, lengths);
      expect(read).toThrow(withCode("bad_json", { record, line }));
      expect(read).toThrow(said);
    }
  });

  describe("with long records", () => {
    const tooLong = withCode("limit_exceeded", {
      limit: "maxJsonBytes",
      maximum: limits.maxJsonBytes,
    });
    const recordOf = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;

    it("accepts one of maxJsonBytes, but no larger one", slow, () => {
      for (const lengths of [[65_536], [1_000_003], [Infinity]]) {
        const text = `1\n${recordOf(limits.maxJsonBytes)}\r\n2\n`;
        const { about, marks } = runRecords(text, lengths);
        expect(about).toMatchObject({ count: 3, bytes: limits.maxJsonBytes + 6 });
        expect(marks).toEqual([
          [0, 0],
          [limits.maxJsonBytes + 4, 2],
        ]);
        expect(() => runRecords(`1\n${recordOf(limits.maxJsonBytes + 1)}\n`, lengths)).toThrow(
          tooLong,
        );
      }
    });

    it("refuses one before it has fully arrived", () => {
      const meter = new RecordsMeter();
      const piece = new Uint8Array(100_000).fill(0x31);
      meter.write(Buffer.from("1\n"));
      const write = () => meter.write(piece);
      for (let sent = piece.length; sent <= limits.maxJsonBytes; sent += piece.length) {
        write();
      }
      expect(write).toThrow(tooLong);
    });
  });
});
