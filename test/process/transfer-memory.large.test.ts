import { execFile } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { HEAP, MAX_COUNTED_BYTES, runMemoryProcess } from "../support/memory-process.ts";
import type { MeasuredLive } from "../support/memory-watch.ts";
import { temporaryFolder } from "../support/server.ts";

interface Moved {
  readonly measured: readonly MeasuredLive[];
  readonly sums: readonly string[];
}

/** Maximum of live memory in bytes: half of an isolate. */
const MAX_LIVE_BYTES = 64_000_000;

it("moves a conversation of 250 MB in the memory of one isolate, with at most half of it live", async () => {
  const { measured, sums } = await moved();
  console.log(measured.map((one) => JSON.stringify(one)).join("\n"));
  expect(sums[0]).toMatch(/^1000 2\d{8} /u);
  expect(sums[1]).toBe(sums[0]);
  expect(measured.map(({ operation }) => operation)).toEqual(["out", "in", "read"]);
  expect(measured.filter(({ peakLiveBytes }) => peakLiveBytes > MAX_LIVE_BYTES)).toEqual([]);
  // Peak between two forced garbage collections.
  expect(measured.filter(({ peakBytes }) => peakBytes > MAX_COUNTED_BYTES)).toEqual([]);
});

async function moved(): Promise<Moved> {
  const folder = temporaryFolder();
  try {
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    mkdirSync(to, { recursive: true });
    await runMemoryProcess("fill", from, "medium");
    const script = join(import.meta.dirname, "../support/transfer-memory.ts");
    const parameters = ["--expose-gc", ...HEAP, script, from, to];
    const { stdout } = await promisify(execFile)(process.execPath, parameters);
    // The script has printed the result.
    return JSON.parse(stdout) as Moved;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
