/**
 * Finds code changes that no test detects. Activates each mutant of Stryker's instrumenter in turn and runs the
 * tests that cover it, all in one process. docs/mutation.md has the last results.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { instrumented, runsOf } from "./mutation/instrument.ts";

const FOLDER = "mutation";
const RESULTS = `${FOLDER}/results.jsonl`;
/** Time without output after which the current mutant counts as an endless loop. */
const SILENCE_MS = 30_000;

/** A line of the results, as `mutation/runner.ts` writes it. */
interface Line {
  readonly covered?: readonly string[];
  /** Mutants run while a file was loaded: they cannot be activated any more. */
  readonly loaded?: readonly string[];
  readonly began?: string;
  readonly killed?: string;
  readonly isLate?: boolean;
}

type Status = "killed" | "late" | "survived" | "uncovered" | "loaded";
type Mutant = Awaited<ReturnType<typeof instrumented>>["mutants"][number];

function readResults(): readonly Line[] {
  const lines = readFileSync(RESULTS, "utf8").split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Line);
}

/** Returns true if all tests ran, and false if the run was killed because a mutant does not end. */
async function runTests(): Promise<boolean> {
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.mutation.config.ts"];
  const child = spawn(process.execPath, [...vitest, "--reporter", "dot"], {
    stdio: "ignore",
    env: { ...process.env, MUTATION_RESULTS: RESULTS },
  });
  const exit = once(child, "exit");
  for (let size = -1; ;) {
    const waited = new AbortController();
    const tick = sleep(SILENCE_MS, undefined, { signal: waited.signal });
    const ended = await Promise.race([exit, tick]);
    if (ended !== undefined) {
      waited.abort();
      tick.catch(() => undefined);
      // The runner hides failures caused by mutants, so this failure occurs without one.
      if (ended[0] !== 0) throw new Error("A test fails without any mutant.");
      return true;
    }
    const { length } = readFileSync(RESULTS);
    if (length === size) {
      child.kill("SIGKILL");
      return false;
    }
    size = length;
  }
}

function statuses(mutants: readonly Mutant[]): ReadonlyMap<string, Status> {
  const found = new Map<string, Status>(mutants.map(({ id }) => [id, "uncovered"]));
  for (const { covered = [], loaded = [], killed, isLate } of readResults()) {
    for (const id of loaded) if (found.get(id) === "uncovered") found.set(id, "loaded");
    for (const id of covered) if (isUntried(found.get(id))) found.set(id, "survived");
    if (killed !== undefined) found.set(killed, isLate === true ? "late" : "killed");
  }
  return found;
}

function isUntried(status: Status | undefined): boolean {
  return status === "uncovered" || status === "loaded";
}

/** The original code and its replacement, on one line. */
function change({ fileName, location, replacement, mutatorName }: Mutant): string {
  const lines = readFileSync(fileName, "utf8").split("\n");
  const { start, end } = location;
  const text = lines.slice(start.line, end.line + 1).join(" ");
  const last = text.length - (lines[end.line] ?? "").length + end.column;
  const short = (code: string) => code.replaceAll(/\s+/gu, " ").slice(0, 90);
  const place = `${relative(".", fileName)}:${start.line + 1}`;
  return `${place} ${mutatorName}: ${short(text.slice(start.column, last))} => ${short(replacement)}`;
}

function report(mutants: readonly Mutant[], minutes: number): string {
  const found = statuses(mutants);
  const rows = new Map<string, Record<Status, number>>();
  for (const { id, fileName } of mutants) {
    const name = relative(".", fileName);
    for (const row of [name, name.split("/").slice(0, -1).join("/")]) {
      const counts = rows.get(row) ?? { killed: 0, late: 0, survived: 0, uncovered: 0, loaded: 0 };
      counts[found.get(id) ?? "uncovered"]++;
      rows.set(row, counts);
    }
  }
  const table = [...rows].sort().map(([name, counts]) => {
    const { killed, late, survived, uncovered, loaded } = counts;
    const dead = killed + late;
    const percent = ((100 * dead) / (dead + survived + uncovered)).toFixed(1);
    return `| ${[name, percent, killed, late, survived, uncovered, loaded].join(" | ")} |`;
  });
  const left = mutants.filter(({ id }) => ["survived", "uncovered"].includes(found.get(id) ?? ""));
  const list = left.map((mutant) => `${found.get(mutant.id)} ${change(mutant)}`);
  const head =
    "| file | % | killed | no end | survived | no test | at load |\n|---|---|---|---|---|---|---|";
  return [head, ...table, "", ...list.sort(), "", `${minutes.toFixed(1)} minutes`, ""].join("\n");
}

/** Tries all mutants of these sources with these tests, and returns the report. */
async function run(files: readonly string[]): Promise<string> {
  process.env["MUTATION_FILES"] = files.join(" ");
  writeFileSync(RESULTS, "");
  const startMs = Date.now();
  const { mutants } = await instrumented();
  while (!(await runTests())) {
    const lines = readResults();
    const { began } = lines.findLast((line) => line.began !== undefined) ?? {};
    if (began === undefined || lines.some(({ killed }) => killed === began)) {
      throw new Error("The tests hang outside of a mutant.");
    }
    appendFileSync(RESULTS, `${JSON.stringify({ killed: began, isLate: true })}\n`);
  }
  return report(mutants, (Date.now() - startMs) / 60_000);
}

mkdirSync(FOLDER, { recursive: true });
const reports = [];
for (const files of runsOf(process.argv.slice(2))) {
  const text = await run(files);
  console.log(text);
  reports.push(text);
}
writeFileSync(`${FOLDER}/report.md`, reports.join("\n"));
