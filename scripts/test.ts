/**
 * Runs tests. `npm test` runs the quick ones: Node and workerd, and the smoke test of a server and its page.
 * `npm run test:all` runs these and all others; with `--rest` only the others. Other arguments go to Vitest, for
 * instance a part of a file's name; then one process runs all projects, so that a name that no file has is an error.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";

interface Job {
  readonly name: string;
  readonly command: readonly string[];
  /** Runs some of its files. */
  readonly only?: (files: readonly string[]) => Job;
}

const root = join(import.meta.dirname, "..");
const logs = join(root, "node_modules/.cache/byref-tests");
const VITEST = ["node_modules/vitest/vitest.mjs", "run", "--silent=passed-only"];
const ONE_WORKER = "--maxWorkers=1";

function vitest(name: string, ...options: readonly string[]): Job {
  const kept = options.filter((option) => /^--(?!shard)/.test(option));
  return {
    name,
    command: [...VITEST, "--reporter=default", ...options],
    only: (files) => vitest(`${name}-again`, ...kept, ...files),
  };
}

/** Lanes run beside each other: one for each core. The page of the smoke test is built by the other lane meanwhile. */
const QUICK = [
  [vitest("node", "--project=node", "--tagsFilter=!slow"), vitest("smoke", "--project=smoke")],
  [vitest("workerd", ONE_WORKER, "--project=workerd", "--tagsFilter=!slow")],
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
    { name: "examples", command: ["scripts/test-examples.ts"] },
    vitest("large-2", ONE_WORKER, "--project=large", "--shard=2/2"),
    vitest("templates", ONE_WORKER, "--project=templates"),
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

interface Folder {
  readonly name: string;
  files: number;
  tests: number;
}

interface Failed {
  readonly files: readonly string[];
  readonly tests: number;
}

/** Runs a job. What it prints goes to a file, whose end is shown if the job fails. Returns what failed. */
async function runJob({ name, command }: Job): Promise<Failed | undefined> {
  const log = join(logs, `${name}.log`);
  rmSync(log, { force: true });
  const env = { ...process.env, NO_COLOR: "1" };
  const child = spawn(process.execPath, command, {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  child.stderr.on("data", (chunk: Buffer) => appendFileSync(log, chunk));
  const beganMs = Date.now();
  let failedTests = 0;
  const failed = new Set<string>();
  let folder: Folder | undefined;
  const endFolder = () => {
    if (folder !== undefined)
      say(`${folder.name.padEnd(44)} ${folder.files} files, ${folder.tests} tests`);
  };
  for await (const line of createInterface({ input: child.stdout })) {
    appendFileSync(log, `${line}\n`);
    const [, project, file, counts = ""] =
      /^ \S \|([^|]+)\| (\S+) \((.*)\) *\d+ms/.exec(line) ?? [];
    if (project === undefined || file === undefined) continue;
    const count = (what: string) => Number(new RegExp(`(\\d+) ${what}`).exec(counts)?.[1] ?? 0);
    const passed = count("test") - count("failed") - count("skipped");
    total.files++;
    total.passed += passed;
    failedTests += count("failed");
    total.skipped += count("skipped");
    if (folder?.name !== `${project} ${dirname(file)}`) {
      endFolder();
      folder = { name: `${project} ${dirname(file)}`, files: 0, tests: 0 };
    }
    folder.files++;
    folder.tests += passed;
  }
  endFolder();
  const [status] = (await closed) as [number | null];
  say(`${name} ended after ${Math.round((Date.now() - beganMs) / 1_000)} s`);
  if (status === 0) return undefined;
  const text = readFileSync(log, "utf8");
  for (const [, path = ""] of text.matchAll(/^ FAIL {2}(?:\|[^|]+\| )?([\w./-]+)/gm))
    failed.add(path);
  // A hook, or an error outside of the tests.
  total.failed += Math.max(failedTests, 1);
  failures.push(...failed, ...(failed.size === 0 ? [name] : []));
  const start = text.search(/^⎯+ Failed/m);
  console.log(start === -1 ? text.slice(-10_000) : text.slice(start, start + 20_000));
  return { files: [...failed], tests: Math.max(failedTests, 1) };
}

/**
 * Runs a job, and once more those files of it in which tests failed. The summary names them: a machine that is busy
 * with other jobs can be too slow for a browser, but a fault that comes and goes has to be seen too.
 */
async function isGreen(job: Job, isRepeated: boolean): Promise<boolean> {
  const failed = await runJob(job);
  if (failed === undefined) return true;
  const { files, tests } = failed;
  if (!isRepeated || job.only === undefined) return false;
  if (files.length === 0 || files.length > MAX_REPEATED) return false;
  if ((await runJob(job.only(files))) !== undefined) return false;
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

function say(text: string): void {
  console.log(`${String(Math.round((Date.now() - startMs) / 1_000)).padStart(5)} s  ${text}`);
}

async function main([first, ...others]: readonly string[]): Promise<boolean> {
  if (first !== undefined && first !== "--all") {
    const projects = SELECTED.map((name) => `--project=${name}`);
    const { status } = spawnSync("vitest", ["run", ...projects, first, ...others], {
      stdio: "inherit",
    });
    return status === 0;
  }
  mkdirSync(logs, { recursive: true });
  const what = first === "--all" ? "all tests" : "the quick tests";
  console.log(
    `Runs ${what}, several jobs at a time. What programs print is in ${relative(root, logs)}.`,
  );
  // Its name is short because it holds sockets, whose paths have at most 107 bytes.
  const temporary = mkdtempSync(join(tmpdir(), "t-"));
  process.env["TMPDIR"] = temporary;
  let passes = others.includes("--rest") || (await runAll(QUICK));
  if (first === "--all") {
    process.env["SAMPLES"] ??= "all";
    passes &&= await runAll(rest(), true);
  }
  rmSync(temporary, { recursive: true, force: true });
  say(`${total.files} files`);
  if (repeated.length > 0)
    console.log(`\nFailed, and passed when run again:\n  ${repeated.join("\n  ")}`);
  if (failures.length > 0) console.error(`\nFailed:\n  ${failures.join("\n  ")}`);
  const skipped = total.skipped === 0 ? "" : `, ${total.skipped} skipped`;
  console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
  return passes;
}

if (!(await main(process.argv.slice(2)))) process.exitCode = 1;
