/**
 * Kills a server under load and compares its state afterwards with the writes that it acknowledged: `npm run
 * chaos -- [--kills 100] [--seed N]`. A seed repeats the requests, not the moments.
 * SIGKILL does not simulate a power loss: a write survives that only if its disk does.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { rowsOf } from "../test/chaos/turns/table.ts";
import { runTurnsChaos } from "../test/chaos/turns/turns-chaos.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
const stateDir = mkdtempSync(join(tmpdir(), "byref-chaos-"));
console.log(`seed ${seed}, state in ${stateDir}`);
const findings = await runTurnsChaos({
  kills,
  seed,
  stateDir,
  onProgress: (report) => console.log(`kill ${report.kills}/${kills}`),
});
const rows = rowsOf(findings);
console.table(rows);
console.log(findings.kills, "kills in", findings.turns, "turns", findings.counts, findings.moments);
const missed = rows.filter(({ isMet }) => !isMet).map(({ id, figure }) => `${id}: ${figure}`);
const faults = findings.wrong.map(({ row, what }) => `${row}: ${what}`);
const wrong = [...missed, ...faults, ...findings.stories];
for (const one of wrong) console.error(`\nWrong: ${one}`);
if (wrong.length > 0) process.exitCode = 1;
// Kept if something is wrong.
else rmSync(stateDir, { recursive: true, force: true });
