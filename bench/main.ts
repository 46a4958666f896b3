/**
 * `npm run bench`: what needs no other packages, with few samples, in under three minutes.
 * `npm run bench:peers`: everything, beside the peers, which it installs; forty minutes, on a machine that
 * does nothing else. Both write `bench/results.json`; the second also the charts and the tables in
 * `bench/README.md`. `npm run bench -- loop many` runs those, with all of their samples, and only prints.
 * `--quick` takes few samples.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describeMachine, describeVersions } from "./machine.ts";
import { markdownOf, writeTables } from "./markdown.ts";
import { readResults, writeResults } from "./results.ts";

const folder = import.meta.dirname;
const peers = join(folder, "peers");
const resultsPath = join(folder, "results.json");

const QUICK = ["bundle", "references", "prompt", "written-rows", "loop"];
const FULL = [...QUICK, "many", "scale", "memory", "growth", "profile", "proofs", "dollars"];
/** They only print, and take gigabytes of writes and minutes. */
const OTHERS = ["turns-memory"];

const given = process.argv.slice(2);
const named = given.filter((argument) => !argument.startsWith("--"));
const isBeside = given.includes("--peers");
const isNamed = named.length > 0;
const chosen = isNamed ? named : isBeside ? FULL : QUICK;
const options = given.filter((argument) => argument.startsWith("--"));
if (!isNamed && !isBeside) options.push("--quick");

for (const name of named) {
  if ([...FULL, ...OTHERS].includes(name)) continue;
  console.error(`There is no bench ${name}; there are ${[...FULL, ...OTHERS].join(", ")}.`);
  process.exit(2);
}
// Exactly what the lock says; nothing of theirs runs while it is installed.
if (isBeside) run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], peers);
if (!isNamed) {
  const machine = describeMachine();
  writeResults(resultsPath, {
    rows: [],
    curves: [],
    texts: {},
    versions: describeVersions(isBeside),
    machine,
  });
  process.env.BENCH_RESULTS = resultsPath;
}

const broken = chosen.filter((name) => {
  console.log(`\n# ${name}`);
  const parameters = [join(folder, `${name}.ts`), ...options];
  return spawnSync(process.execPath, parameters, { stdio: "inherit" }).status !== 0;
});
if (!isNamed) finish();
for (const name of broken) console.error(`${name} failed.`);
process.exitCode = broken.length === 0 ? 0 : 1;

function finish(): void {
  const results = readResults(resultsPath);
  const { loadAtStart = 0, ...machine } = results.machine;
  const loads = { loadAtStart, loadAtEnd: describeMachine().loadAtStart ?? 0 };
  const whole = {
    ...results,
    machine: { ...machine, ...loads, isQuick: options.includes("--quick") },
  };
  writeResults(resultsPath, whole);
  const unmet = whole.rows.filter(({ met }) => met === false).length;
  const judged = whole.rows.filter(({ met }) => met !== null).length;
  console.log(
    `\n${judged - unmet} of ${judged} goals are met; all figures are in bench/results.json.`,
  );
  if (!isBeside) {
    console.log(`\n${markdownOf(whole)}`);
    return;
  }
  run(process.execPath, [join(peers, "draw.ts"), resultsPath, join(folder, "charts")], folder);
  writeTables(whole, {
    all: join(folder, "README.md"),
    headlines: join(folder, "../README.md"),
  });
}

function run(program: string, parameters: readonly string[], cwd: string): void {
  execFileSync(program, parameters, { cwd, stdio: "inherit" });
}
