import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { sqliteStore, type StoreOnDisk } from "../../packages/adapters/src/agent.ts";
import { TEXT_TYPE } from "../../src/store/bytes/content.ts";
import { csvRecords } from "../../src/store/bytes/csv-records.ts";
import { streamOf } from "../../src/value/bytes.ts";
import { outputOf } from "../support/runtime-tool-calls.ts";

const MIB = 1_048_576;

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

/** The maximum memory in use, beyond what was in use at the start. */
class Held {
  readonly #before = used();
  most = 0;

  sample(): void {
    this.most = Math.max(this.most, used() - this.#before);
  }
}

function used(): number {
  gc();
  // Frees the buffers that the first one has found.
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

let folder: string;
let store: StoreOnDisk;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "held-"));
  store = sqliteStore(join(folder, "store.sqlite"), { csv: csvRecords });
});

afterEach(() => {
  store.close();
  rmSync(folder, { recursive: true });
});

/** Yields the pieces and takes a sample every 5 MB. */
async function* sampled(piece: string, count: number, held: Held) {
  const bytes = new TextEncoder().encode(piece);
  let sent = 0;
  for (let at = 0; at < count; at++) {
    if (Math.floor((sent + bytes.length) / 5_000_000) > Math.floor(sent / 5_000_000)) held.sample();
    sent += bytes.length;
    yield bytes.slice();
  }
  return undefined;
}

it("a stored text of 50 MB is edited within 16 MiB of memory", async () => {
  const piece = `${"some words of a line ".repeat(10)}\n`.repeat(1_000);
  const count = Math.ceil(50_000_000 / piece.length);
  const receiving = new Held();
  const content = await store.receive(streamOf(sampled(piece, count, receiving)), TEXT_TYPE);
  await store.save({ name: "page", value: content });
  const held = new Held();
  let reads = 0;
  const open = store.open.bind(store);
  store.open = (name) => {
    const opened = open(name);
    if (opened === undefined) return undefined;
    const read = opened.read.bind(opened);
    return Object.assign(opened, {
      read: (from: number, to: number) => {
        if (reads++ % 20 === 0) held.sample();
        return read(from, to);
      },
    });
  };
  const edits = [{ find: "a line \n", replace: "the end\n", all: true }];
  const input = { name: "page", edits };
  expect(await outputOf("edit_variable", input, { store, inRun: false })).toMatchObject({
    version: 2,
  });
  expect(reads).toBeGreaterThan(150);
  expect(held.most).toBeLessThan(16 * MIB);
  expect(receiving.most).toBeLessThan(16 * MIB);
  const start = await store.readPath("page", [{ from: 0, to: 215 }]);
  expect(JSON.stringify(start)).toContain("the end");
});

it("a CSV of 40 MB becomes records within 16 MiB of memory, even if its last cell makes a column text", async () => {
  const rows = Array.from({ length: 1_000 }, (_, n) => `${n},a name,${n / 4},2026-01-01\n`).join(
    "",
  );
  const count = Math.ceil(40_000_000 / rows.length);
  const held = new Held();
  async function* csv() {
    yield new TextEncoder().encode("id,name,total,at\n");
    yield* sampled(rows, count, held);
    yield new TextEncoder().encode("x,a name,1,2026-01-01\n");
    held.sample();
    return undefined;
  }
  const content = await store.receiveRecords(streamOf(csv()), "text/csv");
  held.sample();
  const info = await store.save({ name: "rows", value: content ?? null });
  expect(info.count).toBe(count * 1_000 + 1);
  expect(await store.readPath("rows", [{ from: 0, to: 1 }])).toMatchObject({
    value: [{ id: "0", name: "a name", total: 0, at: "2026-01-01" }],
  });
  expect(held.most).toBeLessThan(16 * MIB);
});
