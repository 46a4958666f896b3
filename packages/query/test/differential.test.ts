import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { csvRecords } from "../../../src/store/bytes/csv-records.ts";
import type { Json } from "../../../src/value/json.ts";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import { slow } from "../../../test/support/slow.ts";
import { type MessyFile, messyFiles } from "./messy-files.ts";
import { Queries } from "./queries.ts";

/** Reads a file as the application does. */
async function recordsOf({ bytes }: MessyFile): Promise<Json> {
  const store = new MemoryStore({ csv: csvRecords });
  const file = new Blob([bytes]).stream();
  const value = await store.receiveRecords(file, "text/csv", { delimiter: "auto" });
  await store.save({ name: "file", value: value ?? null });
  return (await store.read("file")) ?? null;
}

type Answer = readonly (readonly unknown[])[];

/** Numbers and texts as one text each: sums of doubles may differ in their last digits. */
function comparable(answer: Answer): string {
  const cell = (value: unknown) => {
    if (value === null || value === undefined) return "null";
    const text = String(value);
    // SQLite has 64 bits.
    const isExact = /^-?\d{16,}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
    return isExact || text.trim() === "" || Number.isNaN(Number(text))
      ? text
      : Number(text).toPrecision(12);
  };
  return JSON.stringify(answer.map((row) => row.map(cell)));
}

it("40 messy files: every answer is DuckDB's, or says why not", slow, async () => {
  const folder = mkdtempSync(join(tmpdir(), "messy-"));
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const wrong: string[] = [];
  let [same, said] = [0, 0];
  try {
    expect(messyFiles.length).toBeGreaterThanOrEqual(40);
    for (const [index, file] of messyFiles.entries()) {
      const path = join(folder, `${index}.csv`);
      writeFileSync(path, file.bytes);
      const queries = new Queries();
      const records = await recordsOf(file).catch((error: Error) => error);
      if (records instanceof Error) {
        // A file that cannot be read has an error that says so.
        expect(records.message, file.name).toMatch(/not UTF-8|cells, and the first line has/);
        said++;
        continue;
      }
      await queries.store.save({ name: "f", value: records });
      // Spreadsheets read the line that names the separator; DuckDB takes it for the header.
      const skip = file.bytes.subarray(0, 4).every((byte, at) => byte === "sep=".charCodeAt(at))
        ? 1
        : 0;
      const source = `read_csv('${path}', skip = ${skip}, all_varchar = true, header = true, delim = '${file.delimiter}', quote = '"', escape = '"', null_padding = true, parallel = false, strict_mode = false)`;
      for (const { sqlite, duckdb } of file.questions) {
        const expected = await connection
          .runAndReadAll(duckdb.replaceAll("FROM f", `FROM ${source}`))
          .then((read) => comparable(read.getRowsJS()))
          .catch((error: Error) => error.message.split("\n")[0]);
        const found = await queries.result(sqlite).catch((error: Error) => error);
        if (found instanceof Error || found.notes.length > 0) {
          said++;
          continue;
        }
        // Digits beyond a double stay as they are.
        const cells = found.records.replaceAll(/:(-?\d{16,})(?=[,}])/g, ':"$1"');
        const answer = comparable((JSON.parse(cells) as object[]).map((one) => Object.values(one)));
        if (answer === expected) same++;
        else wrong.push(`${file.name}: ${sqlite} is ${answer}, in DuckDB ${expected}`);
      }
    }
  } finally {
    connection.closeSync();
    rmSync(folder, { recursive: true });
  }
  expect(wrong).toEqual([]);
  // Most questions have an answer.
  expect(same).toBeGreaterThan(said);
});
