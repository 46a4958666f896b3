/**
 * Kills a server under load and compares its state afterwards with the writes that it acknowledged: `npm run
 * chaos -- [--kills 100] [--seed N] [--only variables|turns]`. A seed repeats the requests, not the moments.
 * SIGKILL does not simulate a power loss: a write survives that only if its disk does.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runChaos } from "../test/chaos/chaos.ts";
import { rowsOf } from "../test/chaos/turns/table.ts";
import { runTurnsChaos } from "../test/chaos/turns/turns-chaos.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    only: { type: "string", default: "variables and turns" },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
const progress = (report: { readonly kills: number }) =>
  console.log(`kill ${report.kills}/${kills}`);

const parts: Readonly<Record<string, (stateDir: string) => Promise<readonly string[]>>> = {
  variables: async (stateDir) => {
    const report = await runChaos({ kills, seed, stateDir, onProgress: progress });
    const { wrong, forgotten, counts, evicted, ...others } = report;
    const { refused, ...numbers } = counts;
    const { restartMs, answerMs, ...rest } = others;
    console.table({ ...rest, ...numbers, evicted: evicted.size, wrong: wrong.length });
    console.table(Object.fromEntries(refused));
    console.log(
      "restart to first answer:",
      spread(restartMs),
      "with the port open:",
      spread(answerMs),
    );
    return [...wrong, ...forgotten.map((what) => `No alarm was set for ${what}`)];
  },
  turns: async (stateDir) => {
    const findings = await runTurnsChaos({ kills, seed, stateDir, onProgress: progress });
    const rows = rowsOf(findings);
    console.table(rows);
    console.log(
      findings.kills,
      "kills in",
      findings.turns,
      "turns",
      findings.counts,
      findings.moments,
    );
    const missed = rows.filter(({ isMet }) => !isMet).map(({ id, figure }) => `${id}: ${figure}`);
    const wrong = findings.wrong.map(({ row, what }) => `${row}: ${what}`);
    return [...missed, ...wrong, ...findings.stories];
  },
};

for (const [what, run] of Object.entries(parts)) {
  if (!values.only.includes(what)) continue;
  const stateDir = mkdtempSync(join(tmpdir(), "byref-chaos-"));
  console.log(`${what}: seed ${seed}, state in ${stateDir}`);
  const wrong = await run(stateDir);
  for (const one of wrong) console.error(`\nWrong: ${one}`);
  if (wrong.length > 0) process.exitCode = 1;
  // Kept if something is wrong.
  else rmSync(stateDir, { recursive: true, force: true });
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const [median = 0, worst = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return `median ${Math.round(median)} ms, worst ${Math.round(worst)} ms`;
}
