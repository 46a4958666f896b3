/**
 * Runs tests. `npm test` runs the quick ones: Node and workerd, and the smoke test of a server and its page.
 * `npm run test:all` runs these and all others; with `--rest` only the others. Other arguments go to Vitest, for
 * instance a part of a file's name; then one process runs all projects, so that a name that no file has is an error.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

interface Job {
  readonly name: string;
  /** Arguments of Vitest. */
  readonly options: readonly string[];
}

const root = join(import.meta.dirname, "..");
const VITEST = [
  "node_modules/vitest/vitest.mjs",
  "run",
  "--silent=passed-only",
  "--reporter=default",
];
const ONE_WORKER = "--maxWorkers=1";

function vitest(name: string, ...options: readonly string[]): Job {
  return { name, options };
}

/** Lanes run beside each other: one for each core. */
const QUICK = [
  [vitest("node", "--project=node", "--tagsFilter=!slow")],
  [
    vitest("workerd", ONE_WORKER, "--project=workerd", "--tagsFilter=!slow"),
    vitest("smoke", "--project=smoke"),
  ],
];

/** The longest first, so that lanes end together. Each lane takes the next; a third one, because servers wait at times. */
function rest(): readonly Iterable<Job>[] {
  const slow = ["--tagsFilter=slow or sampled", ...slowFiles()];
  const jobs = [
    vitest("large-process-2", ONE_WORKER, "--project=large-process", "--shard=2/2"),
    vitest("servers", ONE_WORKER, "--project=process", "--project=browser"),
    vitest("large-process-1", ONE_WORKER, "--project=large-process", "--shard=1/2"),
    vitest("slow", ONE_WORKER, "--project=node", "--project=workerd", ...slow),
    vitest("large-workerd", ONE_WORKER, "--project=large-workerd"),
    vitest("large-1", ONE_WORKER, "--project=large", "--shard=1/2"),
    // These two install packages into folders of their own.
    vitest("examples", ONE_WORKER, "--project=templates", "examples"),
    vitest("large-2", ONE_WORKER, "--project=large", "--shard=2/2"),
    vitest("templates", ONE_WORKER, "--project=templates", "create-byref"),
  ].values();
  return [jobs, jobs, jobs];
}

/** Files that may have slow tests, of their own or of a suite. To load all others takes minutes. */
function slowFiles(): readonly string[] {
  const files = globSync("{test,page/test,packages/*/test}/**/*.test.{ts,tsx}", { cwd: root });
  const isSlow = /\/slow\.ts"|contract|suite|cases|properties/;
  return files.filter((file) => isSlow.test(file + readFileSync(join(root, file), "utf8")));
}

/** A job with more failed files is not repeated. */
const MAX_REPEATED = 3;
/** The projects that arguments select from. */
const SELECTED = ["node", "workerd", "smoke", "process", "browser", "large", "large-workerd"];

const startMs = Date.now();
const total = { files: 0, passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
const repeated: string[] = [];
/** For reports and temporary files. Its name is short because it holds sockets, whose paths have at most 107 bytes. */
const folder = mkdtempSync(join(tmpdir(), "t-"));

/** What Vitest's JSON reporter writes. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly { readonly name: string; readonly status: string }[];
}

/** Runs a job. Returns the files and the number of tests that failed. */
async function runJob({ name, options }: Job) {
  const path = join(folder, `${name}.json`);
  const command = [...VITEST, "--reporter=json", `--outputFile=${path}`, ...options];
  const env = { ...process.env, NO_COLOR: "1", TMPDIR: folder };
  const beganMs = Date.now();
  const child = spawn(process.execPath, command, { cwd: root, env, stdio: "inherit" });
  const [status] = (await once(child, "close")) as [number | null];
  console.log(`${name} ended after ${Math.round((Date.now() - beganMs) / 1_000)} s`);
  const report = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Report) : undefined;
  total.files += report?.testResults.length ?? 0;
  total.passed += report?.numPassedTests ?? 0;
  total.skipped += report?.numPendingTests ?? 0;
  if (status === 0) return undefined;
  const results = report?.testResults.filter((file) => file.status === "failed") ?? [];
  const files = results.map((file) => relative(root, file.name));
  // A hook, or an error outside of the tests.
  const tests = Math.max(report?.numFailedTests ?? 0, 1);
  total.failed += tests;
  failures.push(...files, ...(files.length === 0 ? [name] : []));
  return { files, tests };
}

/**
 * Runs a job, and once more those files of it in which tests failed. The summary names them: a machine that is busy
 * with other jobs can be too slow for a browser, but a fault that comes and goes has to be seen too.
 */
async function isGreen(job: Job, isRepeated: boolean): Promise<boolean> {
  const failed = await runJob(job);
  if (failed === undefined) return true;
  const { files, tests } = failed;
  if (!isRepeated || files.length === 0 || files.length > MAX_REPEATED) return false;
  const kept = job.options.filter((option) => /^--(?!shard)/.test(option));
  if ((await runJob(vitest(`${job.name}-again`, ...kept, ...files))) !== undefined) return false;
  total.failed -= tests;
  for (const file of files) repeated.push(...failures.splice(failures.indexOf(file), 1));
  return true;
}

/** After a failure, the jobs that run go on to their end, and no others start. */
async function runAll(lanes: readonly Iterable<Job>[], isRepeated = false): Promise<boolean> {
  let passes = true;
  const runLane = async (jobs: Iterable<Job>) => {
    for (const job of jobs) if (passes && !(await isGreen(job, isRepeated))) passes = false;
  };
  await Promise.all(lanes.map(runLane));
  return passes;
}

async function main([first, ...others]: readonly string[]): Promise<boolean> {
  if (first !== undefined && first !== "--all") {
    const projects = SELECTED.map((name) => `--project=${name}`);
    return (
      spawnSync("vitest", ["run", ...projects, first, ...others], { stdio: "inherit" }).status === 0
    );
  }
  let passes = others.includes("--rest") || (await runAll(QUICK));
  if (first === "--all") {
    process.env["SAMPLES"] ??= "all";
    passes &&= await runAll(rest(), true);
  }
  console.log(`\n${total.files} files in ${Math.round((Date.now() - startMs) / 1_000)} s`);
  if (repeated.length > 0)
    console.log(`\nFailed, and passed when run again:\n  ${repeated.join("\n  ")}`);
  if (failures.length > 0) console.error(`\nFailed:\n  ${failures.join("\n  ")}`);
  const skipped = total.skipped === 0 ? "" : `, ${total.skipped} skipped`;
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
  return passes;
}

if (!(await main(process.argv.slice(2)))) process.exitCode = 1;
rmSync(folder, { recursive: true, force: true });
