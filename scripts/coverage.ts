/**
 * Measures the coverage of each layer by its quick tests: `npm run coverage`. Exits 1 if a test fails or a
 * layer is below its thresholds. `coverage/index.html` marks the lines that were not run.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";

/** Percent of each layer. */
const MIN_LINES = 95;
const MIN_BRANCHES = 90;

const layers = ["value", "reference", "store", "tool", "plan", "turn"];
/** Conversations run plans, so many tests of plans are in workerd. */
const projects = ["node", "workerd"];

const root = join(import.meta.dirname, "..");
const folder = join(root, "coverage");

interface Count {
  readonly total: number;
  readonly covered: number;
}

/** A file's entry in Istanbul's summary. */
interface Summary {
  readonly lines: Count;
  readonly branches: Count;
}

// Prevents using the summary of an earlier run.
rmSync(folder, { recursive: true, force: true });
const status = runTests();
const files = summaries();
console.log("| layer | files | lines | branches |\n|---|--:|--:|--:|");
const low = layers.filter((layer) => !isEnough(layer));
if (status !== 0) console.log("\nA test failed.");
for (const layer of low) {
  console.log(`\nsrc/${layer} is below ${MIN_LINES} % of lines or ${MIN_BRANCHES} % of branches.`);
}
process.exit(status === 0 && low.length === 0 ? 0 : 1);

function runTests(): number {
  const options = [
    "--coverage.enabled",
    "--coverage.provider=istanbul",
    "--coverage.reporter=json-summary",
    "--coverage.reporter=html",
    "--coverage.reportOnFailure",
    `--coverage.reportsDirectory=${folder}`,
    ...layers.map((layer) => `--coverage.include=src/${layer}/**`),
    ...projects.map((project) => `--project=${project}`),
  ];
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const { status } = spawnSync(process.execPath, [vitest, "run", "--reporter=dot", ...options], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
  });
  return status ?? 1;
}

/** Summaries by the file's path from the root. */
function summaries(): ReadonlyMap<string, Summary> {
  const text = readFileSync(join(folder, "coverage-summary.json"), "utf8");
  const all = Object.entries(JSON.parse(text) as Record<string, Summary>);
  return new Map(all.map(([file, summary]) => [relative(root, file), summary]));
}

/** Prints the layer's row and returns whether it reaches the thresholds. */
function isEnough(layer: string): boolean {
  const own = [...files].filter(([file]) => file.startsWith(`src/${layer}/`));
  const lines = percentOf(own.map(([, summary]) => summary.lines));
  const branches = percentOf(own.map(([, summary]) => summary.branches));
  console.log(`| ${layer} | ${own.length} | ${lines.toFixed(1)} | ${branches.toFixed(1)} |`);
  return lines >= MIN_LINES && branches >= MIN_BRANCHES;
}

/** NaN if the total is zero, which reaches no threshold. */
function percentOf(counts: readonly Count[]): number {
  const total = counts.reduce((sum, count) => sum + count.total, 0);
  return (100 * counts.reduce((sum, { covered }) => sum + covered, 0)) / total;
}
