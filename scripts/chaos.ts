/**
 * Kills a server in the middle of turns and compares their outcome with what was promised: `npm run chaos --
 * [--kills 100] [--seed N]`. A seed repeats the requests, not the moments.
 * SIGKILL does not simulate a power loss: a write survives that only if its disk does.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Findings } from "../test/chaos/turns/findings.ts";
import { rowsOf } from "../test/chaos/turns/table.ts";
import { runTurnsChaos } from "../test/chaos/turns/turns-chaos.ts";
import { aligned } from "./aligned.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    seed: { type: "string" },
  },
});
const kills = wholeNumber("kills", values.kills);
const seed = wholeNumber("seed", values.seed ?? String(Date.now() % 1_000_000));
await inFolder(killInTurns);

async function killInTurns(stateDir: string): Promise<readonly string[]> {
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
}

/** Runs the work in its own state folder, which is kept if something is wrong. */
async function inFolder(work: (stateDir: string) => Promise<readonly string[]>): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), "byref-chaos-"));
  console.log(`seed ${seed}, state in ${stateDir}`);
  const startedMs = performance.now();
  const wrong = await work(stateDir);
  console.log(`${((performance.now() - startedMs) / 60_000).toFixed(1)} minutes`);
  if (wrong.length === 0) return rmSync(stateDir, { recursive: true, force: true });
  console.error(`\nWrong (seed ${seed}, state kept in ${stateDir}):`);
  for (const one of wrong) console.error(`\n${one}`);
  process.exitCode = 1;
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
