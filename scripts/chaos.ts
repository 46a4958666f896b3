/**
 * Kills a server under load and compares its state afterwards with the writes that it acknowledged: `npm run
 * chaos -- [--kills 100] [--seed N] [--only variables|turns]`. A seed repeats the requests, not the moments.
 * SIGKILL does not simulate a power loss: a write survives that only if its disk does.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Report, runChaos } from "../test/chaos/chaos.ts";
import type { Findings } from "../test/chaos/turns/findings.ts";
import { rowsOf } from "../test/chaos/turns/table.ts";
import { runTurnsChaos } from "../test/chaos/turns/turns-chaos.ts";
import { aligned } from "./aligned.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    seed: { type: "string" },
    only: { type: "string" },
  },
});
const kills = wholeNumber("kills", values.kills);
const seed = wholeNumber("seed", values.seed ?? String(Date.now() % 1_000_000));
const { only } = values;
if (only !== undefined && only !== "variables" && only !== "turns") {
  console.error(`--only must be variables or turns, not ${only}.`);
  process.exit(1);
}
if (only !== "turns") await killUnderWrites();
if (only !== "variables") await killInTurns();

async function killUnderWrites(): Promise<void> {
  await inFolder("variables", async (stateDir) => {
    const report = await runChaos({ kills, seed, stateDir, onProgress: showProgress });
    console.log(`\n\n${tableOf(report)}\n\nrefused: ${refusals(report)}`);
    return [...report.wrong, ...report.forgotten.map((what) => `No alarm was set for ${what}`)];
  });
}

async function killInTurns(): Promise<void> {
  await inFolder("turns", async (stateDir) => {
    const findings = await runTurnsChaos({ kills, seed, stateDir, onProgress: showTurns });
    const rows = rowsOf(findings);
    const cells = rows.map(({ id, figure, target, result, isMet }) => [
      id,
      figure,
      target,
      isMet ? result : `${result} MISSED`,
    ]);
    console.log(`\n\n${aligned([["id", "figure", "target", "result"], ...cells])}`);
    console.log(
      `\n${findings.kills} kills in ${findings.turns} turns: ${countsText(findings.counts)}`,
    );
    console.log(`killed at: ${countsText(findings.moments)}`);
    const missed = rows.filter(({ isMet }) => !isMet).map(({ id, figure }) => `${id}: ${figure}`);
    const wrong = findings.wrong.map(({ row, what }) => `${row}: ${what}`);
    return [...new Set(missed), ...wrong, ...findings.stories];
  });
}

/** Runs the work in its own state folder, which is kept if something is wrong. */
async function inFolder(
  what: string,
  work: (stateDir: string) => Promise<readonly string[]>,
): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), "byref-chaos-"));
  console.log(`${what}: seed ${seed}, state in ${stateDir}`);
  const startedMs = performance.now();
  const wrong = await work(stateDir);
  console.log(`${((performance.now() - startedMs) / 60_000).toFixed(1)} minutes`);
  if (wrong.length === 0) return rmSync(stateDir, { recursive: true, force: true });
  console.error(`\nWrong (${what}, seed ${seed}, state kept in ${stateDir}):`);
  for (const one of wrong) console.error(`\n${one}`);
  process.exitCode = 1;
}

function showProgress({ kills: done, counts, evicted, orphans, restartMs }: Report): void {
  showLine([
    `kill ${done}/${kills}`,
    `${amount(counts.writes)} acknowledged writes`,
    `${amount(counts.deletes + counts.resets + counts.ends)} deletes`,
    `${amount(evicted.size)} evicted`,
    `${amount(orphans)} orphans swept`,
    `restart ${amount(restartMs.at(-1) ?? 0)} ms`,
  ]);
}

function showTurns({ kills: done, turns, wrong, resumedMs }: Findings): void {
  showLine([
    `kill ${done}/${kills}`,
    `${amount(turns)} turns`,
    `resumed after ${amount(resumedMs.at(-1) ?? 0)} ms`,
    `${amount(wrong.length)} wrong`,
  ]);
}

function showLine(parts: readonly string[]): void {
  const line = parts.join(" · ");
  if (process.stdout.isTTY) process.stdout.write(`\r${line}\x1b[K`);
  else console.log(line);
}

function tableOf(report: Report): string {
  const { counts, evicted, orphans, openUploads, restartMs, answerMs, wrong, forgotten } = report;
  const { deletes, resets, ends, reads, unanswered, writes } = counts;
  return aligned([
    ["", "target", "result"],
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
  ]);
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return `${amount(median)} ms, ${amount(sorted.at(-1) ?? 0)} ms`;
}

function refusals({ counts }: Report): string {
  return countsText(counts.refused) || "none";
}

function countsText(counts: ReadonlyMap<string, number>): string {
  return Array.from(counts, ([what, times]) => `${what} (${times})`).join(", ");
}

function amount(value: number): string {
  return Math.round(value).toLocaleString("en");
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  console.error(`--${name} must be a whole number, not ${text}.`);
  process.exit(1);
}
