/**
 * Measures a conversation of 1 GiB, 10,000 variables and 2,000 messages: the memory of each operation, and
 * its time compared with an empty one. `npm run bench -- memory`; with `--workerd` it measures the growth of
 * a real server instead. Fails if an operation exceeds the memory limit of an isolate.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  MAX_COUNTED_BYTES,
  runMemoryProcess,
  summarized,
  type Summary,
} from "../test/support/memory-process.ts";
import { measureWorkerd } from "./memory-workerd.ts";
import { plainRow, report } from "./results.ts";

const MB = 1e6;
/** Operations with the goal for their ratio, without HTTP and workerd; `scale` measures with them. */
const RATIOS = [
  ["wake", 2],
  ["list the last 20", 5],
  ["first part", null],
  ["the whole turn", 1.3],
] as const;

if (process.argv.includes("--workerd")) await measureWorkerd();
else await measureStore();

async function measureStore(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "byref-memory-"));
  try {
    const filled = summarized(await runMemoryProcess("fill", folder, "large"));
    print("Filling it, in one process", filled);
    const compared = summarized(await runMemoryProcess("compare", folder, "large"));
    const used = summarized(await runMemoryProcess("use", folder, "large"));
    print("Using it, in a new process", used);
    printRatios(compared);
    requireBound([...filled, ...used]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(title: string, summaries: readonly Summary[]): void {
  console.log(`\n${row(title, ["counted, MB", "RSS, MB", "ms"])}`);
  for (const { operation, times, ms, peakBytes, peakRssBytes } of summaries) {
    const name = times === 1 ? operation : `${operation} (${times} times)`;
    console.log(row(name, [peakBytes / MB, peakRssBytes / MB, ms].map(rounded)));
  }
}

function printRatios(summaries: readonly Summary[]): void {
  const msOf = (operation: string) =>
    summaries.find((summary) => summary.operation === operation)?.ms ?? Number.NaN;
  console.log(`\n${row("Medians, warm, in turns", ["empty, ms", "large, ms", "ratio"])}`);
  for (const [operation, goal] of RATIOS) {
    const [empty, large] = [msOf(`empty: ${operation}`), msOf(`large: ${operation}`)];
    console.log(row(operation, [empty.toFixed(2), large.toFixed(2), (large / empty).toFixed(2)]));
    const name = `layers below edge, in Node, of 1 GB: ${operation}`;
    const found = { name, value: large / empty, unit: "times", against: "an empty conversation" };
    report({ rows: [plainRow(found, goal)] });
  }
}

function requireBound(summaries: readonly Summary[]): void {
  const above = summaries.filter(({ peakBytes }) => peakBytes > MAX_COUNTED_BYTES);
  for (const { operation, peakBytes } of above)
    console.error(`${operation}: ${rounded(peakBytes / MB)} MB, at most ${MAX_COUNTED_BYTES / MB}`);
  if (above.length > 0) process.exitCode = 1;
}

function row(name: string, columns: readonly string[]): string {
  return name.padEnd(50) + columns.map((column) => column.padStart(12)).join("");
}

function rounded(figure: number): string {
  return figure.toFixed(1);
}
