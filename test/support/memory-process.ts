import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Measured } from "./memory-watch.ts";

/** What an isolate may have, buffers included. */
export const MAX_COUNTED_BYTES = 128_000_000;

/**
 * V8 gets what an isolate of 128 MB would give it: 96 MB for what lives, three times a semi-space for what is
 * new, and the rest for buffers. It collects garbage when these are full, so peaks are near them.
 */
export const HEAP = ["--max-old-space-size=96", "--max-semi-space-size=8"];

export type Task = "fill" | "compare" | "use";

/**
 * One task of `memory-task.ts` on the conversation in the folder, in a new process: of that heap, but for
 * `compare`, which is about time.
 */
export async function runMemoryProcess(
  task: Task,
  folder: string,
  size: "large" | "medium",
): Promise<readonly Measured[]> {
  const script = join(import.meta.dirname, "memory-task.ts");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...(task === "compare" ? [] : HEAP), script, task, folder, size],
    { maxBuffer: 10_000_000 },
  );
  // `memory-task.ts` printed it.
  return JSON.parse(stdout) as Measured[];
}

export interface Summary extends Measured {
  readonly times: number;
}

/** One for each operation, in the order of their first times: greatest memory, median time. */
export function summarized(measured: readonly Measured[]): readonly Summary[] {
  const groups = Map.groupBy(measured, ({ operation }) => operation);
  return Array.from(groups, ([operation, all]) => ({
    operation,
    times: all.length,
    ms: median(all.map(({ ms }) => ms)),
    peakBytes: Math.max(...all.map(({ peakBytes }) => peakBytes)),
    peakRssBytes: Math.max(...all.map(({ peakRssBytes }) => peakRssBytes)),
  }));
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
