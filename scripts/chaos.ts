/**
 * Kills a server in the middle of turns, and checks what it promised: `npm run chaos -- [--kills 100] [--seed N]`. A
 * seed repeats the requests, not the moments. SIGKILL is no power loss: a write survives that only if its disk does.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PROMISES, runTurnsChaos } from "../test/chaos/turns/turns-chaos.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
const stateDir = mkdtempSync(join(tmpdir(), "byref-chaos-"));
console.log(`seed ${seed}, state in ${stateDir}`);
const { wrong, resumedMs, ...counts } = await runTurnsChaos({
  kills,
  seed,
  stateDir,
  onProgress: (report) =>
    console.log(`kill ${report.kills}/${kills}, ${report.wrong.length} promises broken`),
});
console.table(
  Object.entries(PROMISES).map(([id, figure]) => {
    return { id, figure, broken: wrong.filter(({ row }) => row === id).length };
  }),
);
const sorted = resumedMs.toSorted((one, other) => one - other).map(Math.round);
const [median, worst] = [sorted[sorted.length >> 1], sorted.at(-1)];
console.log(counts, `${sorted.length} turns resumed after ${median} ms, at worst ${worst} ms`);
for (const { row, what } of wrong) console.error(`\nWrong: ${row}: ${what}`);
if (wrong.length > 0) process.exitCode = 1;
// Kept if something is wrong.
else rmSync(stateDir, { recursive: true, force: true });
