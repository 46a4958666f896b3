/**
 * `npm run bench`: the benches that need no other packages, with few samples, in under three minutes. `npm
 * run bench:peers`: all benches with the peers, which it installs; it takes a quarter of an hour on an idle machine.
 * Both write `bench/results.local.json`, which git ignores. Only the second publishes: it copies the results
 * to `bench/results.json` and writes the tables of all documents that publish figures. `npm run bench -- loop
 * queries` runs the named benches with all of their samples, and only prints. `--quick` takes
 * few samples, and never publishes.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { describeMachine, describeVersions } from "./machine.ts";
import { markdownOf, writeTables } from "./markdown.ts";
import { readResults, writeResults } from "./results.ts";
import { LOCAL_RESULTS, PUBLISHED_RESULTS, selectionOf } from "./selection.ts";

const folder = import.meta.dirname;
const localPath = join(folder, LOCAL_RESULTS);
const publishedPath = join(folder, PUBLISHED_RESULTS);

const { benches, options, isBesidePeers, isRecorded, isPublished } = selection();

// Installs exactly the locked versions, and runs none of their install scripts.
if (isBesidePeers) {
  const install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  execFileSync("npm", install, { cwd: join(folder, "peers"), stdio: "inherit" });
}
if (isRecorded) {
  const machine = describeMachine();
  writeResults(localPath, { rows: [], versions: describeVersions(isBesidePeers), machine });
  process.env.BENCH_RESULTS = localPath;
}

const broken = benches.filter((name) => {
  console.log(`\n# ${name}`);
  const startMs = performance.now();
  const parameters = [join(folder, `${name}.ts`), ...options];
  const { status } = spawnSync(process.execPath, parameters, { stdio: "inherit" });
  console.log(`${name} took ${Math.round((performance.now() - startMs) / 1_000)} s.`);
  return status !== 0;
});
if (isRecorded) finish();
for (const name of broken) console.error(`${name} failed.`);
process.exitCode = broken.length === 0 ? 0 : 1;

function selection() {
  try {
    return selectionOf(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(2);
  }
}

function finish(): void {
  const results = readResults(localPath);
  const { loadAtStart = 0, ...machine } = results.machine;
  const loads = { loadAtStart, loadAtEnd: describeMachine().loadAtStart ?? 0 };
  const whole = {
    ...results,
    machine: { ...machine, ...loads, isQuick: options.includes("--quick") },
  };
  writeResults(localPath, whole);
  const unmet = whole.rows.filter(({ met }) => met === false).length;
  const judged = whole.rows.filter(({ met }) => met !== null).length;
  const name = isPublished ? PUBLISHED_RESULTS : LOCAL_RESULTS;
  console.log(`\n${judged - unmet} of ${judged} goals are met; all figures are in bench/${name}.`);
  if (!isPublished) {
    console.log(`\n${markdownOf(whole)}`);
    return;
  }
  copyFileSync(localPath, publishedPath);
  writeTables(whole, join(folder, ".."));
}
