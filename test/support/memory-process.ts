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

export type Task = "fill" | "use";

/**
 * Runs one task of `memory-task.ts` on the conversation in the folder, in a new process with a limited heap.
 */
export async function runMemoryProcess(
  task: Task,
  folder: string,
  size: "large" | "medium",
): Promise<readonly Measured[]> {
  const script = join(import.meta.dirname, "memory-task.ts");
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...HEAP, script, task, folder, size],
    { maxBuffer: 10_000_000 },
  );
  // `memory-task.ts` prints this type.
  return JSON.parse(stdout) as Measured[];
}
