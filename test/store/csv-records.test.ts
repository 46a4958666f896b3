import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codeOf } from "../../src/errors.ts";
import { jsonContent } from "../../src/store/bytes/content.ts";
import { csvRecords } from "../../src/store/bytes/csv-records.ts";
import type { ReadingOptions } from "../../src/store/bytes/receive.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import * as limits from "../../src/limits.ts";
import { parsedJson } from "../../src/value/json.ts";
import { cutAt, streamed } from "../contract/store-content.ts";
import { sampled, samples, slow } from "../support/slow.ts";

const encode = (text: string) => new TextEncoder().encode(text);

async function read(
  csv: string | Uint8Array,
  {
    mediaType = "text/csv",
    cuts = [],
    ...reading
  }: ReadingOptions & { mediaType?: string; cuts?: readonly number[] } = {},
) {
  const store = new MemoryStore({ csv: csvRecords });
  const bytes = typeof csv === "string" ? encode(csv) : csv;
  const { stream } = streamed(cutAt(bytes, [...cuts]));
  const value = await store.receiveRecords(stream, mediaType, reading);
  if (value === undefined) return undefined;
  const info = await store.save({ name: "v", value });
  expect(info).toMatchObject({ type: "array", bytes: bytes.length });
  // What came is what is stored.
  const open = store.open("v");
  expect(await open?.read(0, bytes.length)).toEqual(bytes);
  const records = await store.read("v");
  const lines: string[] = [];
  for await (const part of open?.lines?.() ?? []) lines.push(...part);
  expect(lines.map(parsedJson)).toEqual(records);
  expect(info.count).toBe(lines.length);
  const { shape, preview } = jsonContent(records ?? null).about;
  expect(info).toMatchObject({ shape, preview });
  return records;
}

const written = async (records: readonly object[]) => {
  const parts: Uint8Array[] = [];
  for await (const part of csvRecords.write(async function* () {
    yield records as never;
  })) {
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
};

const refused = (line: number) =>
  expect.objectContaining({ code: "bad_value", details: { line }, message: expect.any(String) });

describe("a CSV", () => {
  const tsv = "text/tab-separated-values";

  it.each<[string, string, (ReadingOptions & { mediaType?: string })?]>([
    ["id,name\r\n1,Ann\r\n2,Bob\r\n", '[{"id":1,"name":"Ann"},{"id":2,"name":"Bob"}]'],
    ["a,b\n1,\ntrue,2", '[{"a":"1","b":""},{"a":"true","b":"2"}]', { types: "off" }],
    ["a;b\n1;2", '[{"a;b":"1;2"}]'],
    ["a;b\n1;2", '[{"a":1,"b":2}]', { delimiter: "semicolon" }],
    ["a\tb\n1,5\t2", '[{"a":"1,5","b":2}]', { mediaType: tsv }],
    ['"a, b; c"|d\n1|2', '[{"a, b; c":1,"d":2}]', { delimiter: "auto" }],
    ['"a, b| c";d\n1;2', '[{"a, b| c":1,"d":2}]', { delimiter: "auto" }],
    ['"a; b| c",d\n1,2', '[{"a; b| c":1,"d":2}]', { delimiter: "auto" }],
    ['"a, b; c"\td\n1\t2', '[{"a, b; c":1,"d":2}]', { delimiter: "auto" }],
    ["x|y\n1|2", '[{"x":1,"y":2}]', { delimiter: "auto" }],
    // Columns without a name get one, and no name is given twice.
    ["a,,a,a_2,__proto__\n1,2,3,4,5", '[{"a":1,"column_2":2,"a_3":3,"a_2":4,"__proto__":5}]'],
    // No formula, reference or handle is read as one.
    ['$v,b,c\n=A,$v[0],"{""$var"":1}"', '[{"$v":"=A","b":"$v[0]","c":"{\\"$var\\":1}"}]'],
    ["\n\na,b\n1\n\n2,x\n", '[{"a":1,"b":""},{"a":2,"b":"x"}]'],
    // A column has numbers or booleans only if all of its cells convert without loss.
    [
      "number,zip,big,boolean,mixed\n1,007,9007199254740993,true,1\n,01,1,,x",
      `[{"number":1,"zip":"007","big":"9007199254740993","boolean":true,"mixed":"1"},
        {"number":null,"zip":"01","big":"1","boolean":null,"mixed":"x"}]`,
    ],
    [
      "none,note,price,minus\n,,1.50,-0\n,text,2.25,1",
      `[{"none":null,"note":"","price":1.5,"minus":"-0"},
        {"none":null,"note":"text","price":2.25,"minus":"1"}]`,
    ],
    ['\uFEFF"a"\r"x, ""y""\n"\r', String.raw`[{"a":"x, \"y\"\n"}]`],
    ["a,b", "[]"],
    ["", "[]"],
  ])("%j becomes the records %s", async (csv, records, options = {}) => {
    expect(await read(csv, options)).toEqual(JSON.parse(records));
  });

  it.each("1e5#+1# 1#1,5#.5#1.#0x10#Infinity#NaN#TRUE#null#1_000".split("#"))(
    "keeps %j as text",
    async (cell) => {
      expect(await read(`a;b\n${cell};1`, { delimiter: "semicolon" })).toEqual([{ a: cell, b: 1 }]);
    },
  );

  it("has numbers with their exact values", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.double({ noNaN: true }), fc.integer()), async (number) => {
        const [record] = (await read(`a\n${number}`)) as [{ a: unknown }];
        if (typeof record.a === "number") expect(record.a).toBe(Object.is(number, -0) ? 0 : number);
        else expect(record.a).toBe(String(number));
      }),
    );
  });

  it("gets corrected types in earlier records if a later cell is text", async () => {
    const count = 3_000;
    const rows = Array.from({ length: count }, (_, row) => `${row},,1.50,é\\"${row}`);
    const csv = `n,empty,price,q\n${rows.join("\n").replaceAll('\\"', "\\")}\nx,y,z,1\n`;
    const records = (await read(csv, { cuts: [20_000, 40_000] })) as readonly object[];
    expect(records.length).toBe(count + 1);
    expect(records[0]).toEqual({ n: "0", empty: "", price: "1.50", q: "é\\0" });
    expect(records[count - 1]).toEqual({
      n: String(count - 1),
      empty: "",
      price: "1.50",
      q: `é\\${count - 1}`,
    });
  });

  it("is refused with the number of the invalid line", slow, async () => {
    const many = "1,2\n".repeat(30_000);
    await expect(read(`a,b\n1,2\n1,2,3\n`)).rejects.toEqual(refused(3));
    await expect(read(`a,b\n"1\n2",2\n1,2,3\n`)).rejects.toEqual(refused(4));
    await expect(read(`a,b\n${many}1,"2"x\n`)).rejects.toEqual(refused(30_002));
    await expect(read(`a,b\n${many}1,2"\n`)).rejects.toEqual(refused(30_002));
    await expect(read(`a,b\n${many}1,"2\n1,2\n`)).rejects.toEqual(refused(30_002));
    // OSGeo/gdal#11845: a quote that is not closed, and one with text after it.
    await expect(read('Column\n"POINT (6 -7)""\n')).rejects.toEqual(refused(2));
    await expect(read('a\n1\n""\0b\n')).rejects.toEqual(refused(3));
    await expect(read(`a\n${'"x\n'.repeat(20_000)}`)).rejects.toEqual(refused(3));
    await expect(read(Uint8Array.of(97, 10, 0xff, 10))).rejects.toMatchObject({
      code: "bad_value",
    });
  });

  it("is refused if it has another encoding or too many columns", async () => {
    const latin = { mediaType: "text/csv; charset=iso-8859-1" };
    await expect(read("a", latin)).rejects.toMatchObject({ code: "unsupported_media_type" });
    const names = Array.from({ length: limits.maxEntries + 1 }, () => "a").join(",");
    await expect(read(names)).rejects.toMatchObject({ code: "limit_exceeded" });
    expect(Object.keys(((await read(`${names.slice(2)}\n1`)) as [object])[0]).length).toBe(
      limits.maxEntries,
    );
  });

  const names = (count: number, chars = 3) =>
    Array.from({ length: count }, (_, n) => n.toString(36).padEnd(chars, "_")).join(",");

  it.each<[string, string]>([
    ["many names and short rows", `${names(9_999)}\n${"1\n".repeat(3_000)}`],
    ["many names and 400 rows", `${names(9_999)}\n${"1\n".repeat(400)}`],
    ["empty names and short rows", `${",".repeat(9_998)}\n${"1\n".repeat(800)}`],
    ["a long name", `${names(1, 60_000)}\n${"1\n".repeat(2_000)}`],
    ["a long name and many rows", `${names(1, 300_000)}\n${"1\n".repeat(30_000)}`],
    ["names that JSON escapes", `"${'""'.repeat(2_000)}"\n${"1\n".repeat(2_000)}`],
    ["rows that become short", `${names(999)}\n${names(999)}\n${"1\n".repeat(2_000)}`],
  ])("is refused if its records would be far longer: %s", async (_, csv) => {
    await expect(read(csv)).rejects.toMatchObject({
      code: "limit_exceeded",
      details: { limit: "maxCsvNameChars" },
    });
  });

  it.each<[string, string, readonly [row: string, count: number]]>([
    ["500 long names and full cells", names(500, 60), [",7".repeat(500).slice(1), 400]],
    ["500 names and empty cells", names(500, 60), [",".repeat(499), 400]],
    ["9,999 names", names(9_999), [",1".repeat(9_999).slice(1), 50]],
    ["few rows", names(500, 15), ["1", 50]],
  ])("may be wide: %s", slow, async (_, header, [row, count]) => {
    expect(await read(`${header}\n${`${row}\n`.repeat(count)}`)).toHaveLength(count);
  });

  it("is not read from another media type, or by a store without CSV support", async () => {
    expect(await read("a\n1", { mediaType: "text/plain" })).toBeUndefined();
    const { stream } = streamed([encode("a\n1")]);
    expect(await new MemoryStore().receiveRecords(stream, "text/csv")).toBeUndefined();
  });

  const cell = fc.string({
    unit: fc.constantFrom("a", "1", ",", '"', "\n", "\r\n", " ", "é", "😀", "\\", "0"),
    maxLength: 6,
  });
  it(
    "is read, or refused, as csv-parse does it, wherever a piece of it ends",
    sampled,
    async () => {
      const pieces = fc.constantFrom(...`aab1,,;\t\n\n\r \\""é😀`, '""', '"a', '",', "\r\n");
      const raw = fc.array(pieces, { maxLength: 16 });
      // A CSV is read in pieces of 16,384 bytes.
      const before = fc.option(fc.nat(20).map((near) => `a,b\n${"p".repeat(16_379 - near)}\n`));
      await fc.assert(
        fc.asyncProperty(raw, before, async (written, start) => {
          const csv = (start ?? "") + written.join("");
          const options = { record_delimiter: ["\r\n", "\n", "\r"], relax_column_count: true };
          let names: readonly string[] | undefined;
          let rows: readonly (readonly string[])[] = [];
          try {
            [names = [], ...rows] = parse(csv, { ...options, skip_empty_lines: true });
          } catch {
            // It is no CSV.
          }
          const count = names?.length ?? -1;
          const reading = read(csv, { types: "off" });
          if (rows.some(({ length }) => length > count) || names === undefined)
            return void expect(await reading.catch(codeOf)).toBe("bad_value");
          const records = (await reading) ?? [];
          expect(records).toHaveLength(rows.length);
          const keys = names.map((name) => name.trim());
          if (new Set(keys).size < count || keys.includes("")) return;
          const entries = rows.map((row) => keys.map((key, at) => [key, row[at] ?? ""] as const));
          expect(records).toEqual(entries.map((one) => Object.fromEntries(one)));
        }),
        { numRuns: samples(1_500) },
      );
    },
  );

  it("written from records is read as the same records", async () => {
    const value = fc.oneof(cell, fc.integer(), fc.boolean(), fc.constant(null));
    const records = fc.array(fc.record({ a: fc.integer(), b: value, "c,d": cell }));
    await fc.assert(
      fc.asyncProperty(records, async (given) => {
        const text = await written(given);
        const expected = given.map((record) => ({
          a: String(record.a),
          b: record.b === null ? "" : String(record.b),
          "c,d": record["c,d"],
        }));
        expect(await read(text, { types: "off" })).toEqual(expected);
      }),
    );
    expect(await written([{ a: 1 }, { b: [1, "x"], a: null }, {}])).toBe(
      'a,b\r\n1,\r\n,"[1,""x""]"\r\n,\r\n',
    );
    for (const one of [{ a: "" }, { "sep=;": "sep=," }]) {
      expect(await read(await written([one, one]), { types: "off" })).toEqual([one, one]);
    }
  });
});
