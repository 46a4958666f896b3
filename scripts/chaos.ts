/**
 * Kills a server under load and compares what it has afterwards with what it had acknowledged:
 * `npm run chaos -- [--kills 100] [--seed N]`. A seed gives the same requests again, not the same
 * moments. What SIGKILL cannot show is a machine that loses power: there a write is as safe as its disk.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Report, runChaos } from "../test/chaos/chaos.ts";

const { values } = parseArgs({
  options: { kills: { type: "string", default: "100" }, seed: { type: "string" } },
});
const kills = wholeNumber("kills", values.kills);
const seed = wholeNumber("seed", values.seed ?? String(Date.now() % 1_000_000));
const stateDir = mkdtempSync(join(tmpdir(), "byref-chaos-"));

console.log(`Seed ${seed}, state in ${stateDir}`);
const startedMs = performance.now();
const report = await runChaos({ kills, seed, stateDir, onProgress: showProgress });
const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
console.log(`\n\n${tableOf(report)}\n\n${minutes} minutes; refused: ${refusals(report)}`);
if (report.wrong.length === 0 && report.forgotten.length === 0) {
  rmSync(stateDir, { recursive: true, force: true });
} else {
  console.error(`\nWrong after kill ${report.kills} (seed ${seed}, state kept in ${stateDir}):`);
  for (const what of report.wrong) console.error(`\n${what}`);
  for (const what of report.forgotten) console.error(`\nNo alarm was set for ${what}`);
  process.exitCode = 1;
}

function showProgress({ kills: done, counts, evicted, orphans, restartMs }: Report): void {
  const parts = [
    `kill ${done}/${kills}`,
    `${amount(counts.writes)} acknowledged writes`,
    `${amount(counts.deletes + counts.resets + counts.ends)} deletes`,
    `${amount(evicted.size)} evicted`,
    `${amount(orphans)} orphans swept`,
    `restart ${amount(restartMs.at(-1) ?? 0)} ms`,
  ];
  const line = parts.join(" · ");
  if (process.stdout.isTTY) process.stdout.write(`\r${line}\x1b[K`);
  else console.log(line);
}

function tableOf(report: Report): string {
  const { counts, evicted, orphans, openUploads, restartMs, answerMs, wrong, forgotten } = report;
  const { deletes, resets, ends, reads, unanswered, writes } = counts;
  const rows = [
    ["kills", String(kills), String(report.kills)],
    ["acknowledged writes", "", amount(writes)],
    ["cut off without an answer", "", amount(unanswered)],
    [
      "variables deleted, resets, conversations deleted",
      "",
      [deletes, resets, ends].map(amount).join(", "),
    ],
    ["found evicted at the end of their time", "", amount(evicted.size)],
    [
      "values read whole while it ran, after restarts",
      "",
      [reads, report.whole].map(amount).join(", "),
    ],
    ["lost, changed, halved, mixed, come back, half swept", "0", amount(wrong.length)],
    ["bodies that a kill left, all swept", "", amount(orphans)],
    ["conversations that no alarm would have woken", "0", amount(forgotten.length)],
    ["unfinished uploads (R2 ends them after a week)", "", amount(openUploads)],
    ["restart to first answer, median and worst", "", spread(restartMs)],
    ["  of that with the port open", "", spread(answerMs)],
  ];
  const [names = 0, targets = 0] = [0, 1].map((column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length), 6),
  );
  const lines = [["", "target", "result"], ...rows].map(
    ([name = "", target = "", result = ""]) =>
      `${name.padEnd(names)}  ${target.padStart(targets)}  ${result}`,
  );
  return lines.join("\n");
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return `${amount(median)} ms, ${amount(sorted.at(-1) ?? 0)} ms`;
}

function refusals({ counts }: Report): string {
  const each = Array.from(counts.refused, ([what, times]) => `${what} (${times})`);
  return each.join(", ") || "none";
}

function amount(value: number): string {
  return Math.round(value).toLocaleString("en");
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  console.error(`--${name} must be a whole number, not ${text}.`);
  process.exit(1);
}
