import { execFile } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { HEAP, MAX_COUNTED_BYTES, runMemoryProcess } from "../support/memory-process.ts";
import type { Measured } from "../support/memory-watch.ts";
import { temporaryFolder } from "../support/server.ts";

interface Moved {
  readonly measured: readonly Measured[];
  readonly sums: readonly string[];
}

/** V8 may let go of buffers late: what is needed is the least of so many peaks. */
const TRIES = 3;

it("moves a conversation of 250 MB in the memory of one isolate", async () => {
  let above: readonly Measured[] = [];
  for (let tries = 0; tries < TRIES; tries++) {
    const { measured, sums } = await moved();
    console.log(measured.map((one) => JSON.stringify(one)).join("\n"));
    expect(sums[0]).toMatch(/^1000 2\d{8} /u);
    expect(sums[1]).toBe(sums[0]);
    expect(measured.map(({ operation }) => operation)).toEqual(["out", "in", "read"]);
    above = measured.filter(({ peakBytes }) => peakBytes > MAX_COUNTED_BYTES);
    if (above.length === 0) break;
  }
  expect(above).toEqual([]);
}, 240_000);

async function moved(): Promise<Moved> {
  const folder = temporaryFolder();
  try {
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    mkdirSync(to, { recursive: true });
    await runMemoryProcess("fill", from, "medium");
    const script = join(import.meta.dirname, "../support/transfer-memory.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [...HEAP, script, from, to]);
    // The script printed it.
    return JSON.parse(stdout) as Moved;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
