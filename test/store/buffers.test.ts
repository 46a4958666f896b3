import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { migratedSql } from "./watched-sql.ts";

const OCTETS = "application/octet-stream";
const stores = [
  ["in memory", () => new MemoryStore()],
  ["in SQLite", () => new SqlStore(migratedSql())],
] as const;
const sizes = [5, 100_000, 1_500_000, 3_000_000];

/** Returns a view into a larger buffer, as Node often does. */
function bufferOf(length: number): Buffer {
  return Buffer.alloc(length + 100, "abc").subarray(100);
}

async function bytesOf(store: VariableStore, name: string): Promise<Uint8Array> {
  const opened = store.open(name);
  if (opened === undefined) throw new Error(`There is no ${name}.`);
  return opened.read(0, opened.info.bytes);
}

// `slice` of a Buffer is a view; on other typed arrays it copies.
describe.each(stores)("a Buffer saved %s", (_, make) => {
  it.each(sizes)("of %i bytes does not change if it was streamed", async (length) => {
    const store = make();
    const buffer = bufferOf(length);
    const expected = new Uint8Array(buffer);
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(buffer);
        controller.close();
      },
    });
    await store.save({ name: "v", value: await store.receive(stream, OCTETS) });
    buffer.fill("z");
    expect(Buffer.compare(await bytesOf(store, "v"), expected)).toBe(0);
  });
});
