import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Measured } from "./memory-watch.ts";

/** Memory limit of an isolate, including buffers. */
export const MAX_COUNTED_BYTES = 128_000_000;

/**
 * Heap limits of a 128 MB isolate: 96 MB for the old generation, three semi-spaces for new objects, and the
 * rest for buffers. V8 collects garbage when these are full, so peaks come close to them.
 */
export const HEAP = ["--max-old-space-size=96", "--max-semi-space-size=8"];

export type Task = "fill" | "compare" | "use";

/**
 * Runs one task of `memory-task.ts` on the conversation in the folder, in a new process. The process has the
 * limited heap, except for `compare`, which measures time.
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
  // `memory-task.ts` prints this type.
  return JSON.parse(stdout) as Measured[];
}

export interface Summary extends Measured {
  readonly times: number;
}

/** Summarizes each operation, in order of first appearance: maximum memory and median time. */
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
