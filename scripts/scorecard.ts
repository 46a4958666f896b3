/**
 * Runs the tests that measure figures of `test/scorecard.json`, and prints the results next to the targets:
 * `npm run scorecard -- [--json] [ROW …]`. Exits 1 if a row is not met.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { RowFigures } from "../test/support/scorecard.ts";

const root = join(import.meta.dirname, "..");

/** A bound of a figure: for the sum over all of its tests, or for each of them. */
interface Bound {
  readonly inAll?: number;
  readonly atLeast?: number;
  readonly atMost?: number;
}

interface Row {
  readonly id: string;
  readonly what: string;
  readonly figures: Readonly<Record<string, Bound>>;
  readonly tests: readonly string[];
}

/** The parts of Vitest's JSON report that are read here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly meta: { readonly scorecard?: readonly RowFigures[] };
    }[];
  }[];
}

interface Line {
  readonly id: string;
  readonly what: string;
  readonly reached: string;
  readonly target: string;
  readonly isMet: boolean;
  readonly tests: readonly string[];
  readonly faults: readonly string[];
}

const parameters = process.argv.slice(2);
const isJson = parameters.includes("--json");
const chosen = parameters.filter((word) => !word.startsWith("--"));
const { rows: all } = JSON.parse(readFileSync(join(root, "test/scorecard.json"), "utf8")) as {
  readonly rows: readonly Row[];
};
const rows = all.filter(({ id }) => chosen.length === 0 || chosen.includes(id));
const report = run([...new Set(rows.flatMap(({ tests }) => tests))]);
const lines = rows.map(lineOf);
const unmet = lines.filter(({ isMet }) => !isMet);

if (isJson) console.log(JSON.stringify({ rows: lines }, null, 2));
else print();
process.exit(unmet.length === 0 ? 0 : 1);

function run(files: readonly string[]): Report {
  const folder = mkdtempSync(join(tmpdir(), "byref-scorecard-"));
  const output = join(folder, "report.json");
  try {
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const options = ["run", "--reporter=json", `--outputFile=${output}`, ...files];
    const { stderr, status } = spawnSync(process.execPath, [vitest, ...options], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
    });
    // The report has the failed tests; this output may explain them.
    if (status !== 0) process.stderr.write(stderr);
    return JSON.parse(readFileSync(output, "utf8")) as Report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function lineOf({ id, what, figures, tests }: Row): Line {
  const faults: string[] = [];
  const found: RowFigures["figures"][] = [];
  for (const file of tests) {
    const results = report.testResults.filter(({ name }) => relative(root, name) === file);
    const ran = results.flatMap(({ assertionResults }) => assertionResults);
    if (!results.every(({ status }) => status === "passed")) faults.push(`${file} failed.`);
    for (const { status, fullName } of ran) if (status === "failed") faults.push(fullName);
    const own = ran.flatMap(({ meta }) => (meta.scorecard ?? []).filter(({ row }) => row === id));
    if (own.length === 0) faults.push(`${file} says nothing of ${id}.`);
    found.push(...own.map((one) => one.figures));
  }
  const reached: string[] = [];
  for (const [name, bound] of Object.entries(figures)) {
    const numbers = found.flatMap((one) => one[name] ?? []);
    const number = valueOf(numbers, bound);
    reached.push(`${shown(number)} ${name}`);
    if (!isWithin(number, bound)) faults.push(`${name}: ${shown(number)}`);
  }
  const target = Object.entries(figures).map(([name, bound]) => `${shownBound(bound)} ${name}`);
  const isMet = faults.length === 0;
  return { id, what, reached: reached.join(", "), target: target.join(", "), isMet, tests, faults };
}

/** NaN if no test reported a number: NaN is within no bound. */
function valueOf(numbers: readonly number[], { inAll, atLeast }: Bound): number {
  if (numbers.length === 0) return Number.NaN;
  if (inAll !== undefined) return numbers.reduce((sum, number) => sum + number, 0);
  return atLeast === undefined ? Math.max(...numbers) : Math.min(...numbers);
}

function isWithin(number: number, { inAll, atLeast, atMost }: Bound): boolean {
  const least = inAll ?? atLeast ?? Number.NEGATIVE_INFINITY;
  return number >= least && number <= (atMost ?? Number.POSITIVE_INFINITY);
}

function shownBound({ inAll, atLeast, atMost }: Bound): string {
  const least = inAll ?? atLeast;
  if (least !== undefined) return `${shown(least)} or more`;
  if (atMost === undefined) return "measured:";
  return atMost === 0 ? "0" : `at most ${shown(atMost)}`;
}

function shown(number: number): string {
  return Number.isNaN(number) ? "no" : number.toLocaleString("en", { maximumFractionDigits: 2 });
}

function print(): void {
  console.log("| id | what | reached | target | met | shown by |\n|---|---|---|---|---|---|");
  for (const { id, what, reached, target, isMet, tests } of lines) {
    const cells = [id, what, reached, target, isMet ? "yes" : "NO", tests.join(" ")];
    console.log(`| ${cells.join(" | ")} |`);
  }
  console.log(`\n${lines.length - unmet.length} of ${lines.length} rows met`);
  for (const { id, faults } of unmet) {
    for (const fault of new Set(faults)) console.log(`${id} is not met: ${fault}`);
  }
}
