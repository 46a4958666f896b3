import { execFile } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { MAX_COUNTED_BYTES, runMemoryProcess } from "../support/memory-process.ts";
import type { Measured } from "../support/memory-watch.ts";
import { temporaryFolder } from "../support/server.ts";

interface Moved {
  readonly measured: readonly Measured[];
  readonly sums: readonly string[];
}

it("moves a conversation of 250 MB in the memory of one isolate", async () => {
  const folder = temporaryFolder();
  try {
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    mkdirSync(to, { recursive: true });
    await runMemoryProcess("fill", from, "medium");
    const script = join(import.meta.dirname, "../support/transfer-memory.ts");
    const heap = ["--max-old-space-size=100", "--max-semi-space-size=8"];
    const { stdout } = await promisify(execFile)(process.execPath, [...heap, script, from, to]);
    // The script printed it.
    const { measured, sums } = JSON.parse(stdout) as Moved;
    console.log(measured.map((one) => JSON.stringify(one)).join("\n"));
    expect(sums[0]).toMatch(/^1000 2\d{8} /u);
    expect(sums[1]).toBe(sums[0]);
    expect(measured.map(({ operation }) => operation)).toEqual(["out", "in", "read"]);
    expect(measured.filter(({ peakBytes }) => peakBytes > MAX_COUNTED_BYTES)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 240_000);
