/**
 * Runs tests. `npm test` runs the quick ones: Node and workerd, and the smoke test of a server and its page.
 * `npm run test:all` runs these and all others; with `--rest` only the others. Other arguments go to Vitest, for
 * instance a part of a file's name; then one process runs all projects, so that a name that no file has is an error.
 */
import { spawn } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { findSlowFiles } from "./slow-files.ts";
import type { TestReport } from "./test-reporter.ts";

interface Job {
  readonly name: string;
  readonly command: readonly string[];
  /** The command for some of its files. */
  readonly only?: (files: readonly string[]) => readonly string[];
}

/** Jobs one after the other. Lanes run beside each other, for two cores: servers wait at times. */
type Lanes = readonly Iterable<Job>[];

const script = (name: string) => ({ name, command: [process.execPath, `scripts/${name}.ts`] });
const vitest = (name: string, ...options: readonly string[]): Job => {
  const run = [process.execPath, "node_modules/vitest/vitest.mjs", "run"];
  const reported = [...run, "--reporter=./scripts/test-reporter.ts"];
  return {
    name,
    command: [...reported, ...options],
    only: (files) => [...reported, ...options.filter((option) => isOfAllFiles(option)), ...files],
  };
};
const isOfAllFiles = (option: string) => option.startsWith("--") && !option.startsWith("--shard");
const SLOW = "--tagsFilter=slow or sampled";
const ONE_WORKER = "--maxWorkers=1";

const QUICK: Lanes = [
  // The page of the smoke test is built by the other lane meanwhile.
  [vitest("node", "--project=node", "--tagsFilter=!slow"), vitest("smoke", "--project=smoke")],
  [vitest("workerd", ONE_WORKER, "--project=workerd", "--tagsFilter=!slow")],
];

/** The long ones first. */
const rest = [
  vitest("large-process-1", ONE_WORKER, "--project=large-process", "--shard=1/2"),
  vitest("large-process-2", ONE_WORKER, "--project=large-process", "--shard=2/2"),
  vitest("large-1", ONE_WORKER, "--project=large", "--shard=1/2"),
  vitest("large-2", ONE_WORKER, "--project=large", "--shard=2/2"),
  vitest("slow", ONE_WORKER, "--project=node", "--project=workerd", SLOW, ...findSlowFiles()),
  vitest("servers", ONE_WORKER, "--project=process", "--project=browser"),
  vitest("large-workerd", ONE_WORKER, "--project=large-workerd"),
  // These install packages into folders of their own.
  script("test-examples"),
  vitest("templates", ONE_WORKER, "--project=templates"),
  script("peer-ranges"),
].values();

/** Each lane takes the next job. */
const REST: Lanes = [rest, rest, rest];

/** A job with more failed files is not repeated. */
const MAX_REPEATED = 3;

/** The projects that arguments select from. */
const SELECTED = ["node", "workerd", "smoke", "process", "browser", "large", "large-workerd"];

const root = join(import.meta.dirname, "..");
const logs = join(root, "node_modules/.cache/byref-tests");
const times = join(logs, "times.tsv");

class Progress {
  readonly #startMs = Date.now();
  readonly #folders = new Map<string, { left: number; tests: number; files: number; ms: number }>();
  #files = 0;
  #done = 0;
  passed = 0;
  skipped = 0;
  failed: string[] = [];
  /** The files of jobs that have failures. */
  readonly failedFiles = new Map<string, Set<string>>();
  readonly repeated: string[] = [];

  take(run: string, report: TestReport): void {
    if (report.kind === "error") {
      this.#fail("an error outside of the tests", report.text);
    } else if (report.kind === "files") {
      for (const path of report.paths) this.#folderOf(run, path).left++;
      this.#files += report.paths.length;
    } else {
      this.#takeFile(run, report);
    }
    this.#status();
  }

  /** Prints what a job took. Returns false if it ended before all of its files. */
  end(run: string, ms: number): boolean {
    this.#print(`       ${run} ended after ${seconds(ms).trim()}`);
    const folders = [...this.#folders].filter(([key]) => key.startsWith(`${run} `));
    return folders.every(([, { left }]) => left === 0);
  }

  /** Prints the numbers, in the form that continuous integration reads. */
  summarize(): void {
    this.#print(`\n${this.#done} files in ${seconds(Date.now() - this.#startMs)}`);
    if (this.repeated.length > 0) {
      console.log(`\nFailed, and passed when run again:\n  ${this.repeated.join("\n  ")}`);
    }
    if (this.failed.length > 0) console.error(`\nFailed:\n  ${this.failed.join("\n  ")}`);
    const skipped = this.skipped === 0 ? "" : `, ${this.skipped} skipped`;
    console.log(`${this.passed} passed, ${this.failed.length} failed${skipped}`);
  }

  /** Counts failures as repeated: their files have passed since. */
  forgive(files: ReadonlySet<string>): void {
    const isForgiven = (name: string) => files.has(name.split(" > ", 1)[0] ?? "");
    this.repeated.push(...this.failed.filter(isForgiven));
    this.failed = this.failed.filter((name) => !isForgiven(name));
  }

  #takeFile(run: string, report: TestReport & { readonly kind: "file" }): void {
    for (const { name, text } of report.failures) this.#fail(name, text);
    if (report.failures.length > 0) {
      this.failedFiles.set(run, (this.failedFiles.get(run) ?? new Set()).add(report.path));
    }
    const whole = ((Date.now() - this.#startMs) / 1_000).toFixed(0);
    appendFileSync(times, `${whole}\t${(report.ms / 1_000).toFixed(1)}\t${run}\t${report.path}\n`);
    this.passed += report.passed;
    this.skipped += report.skipped;
    this.#done++;
    const folder = this.#folderOf(run, report.path);
    folder.left--;
    folder.files += report.passed > 0 ? 1 : 0;
    folder.tests += report.passed;
    folder.ms += report.ms;
    if (folder.left > 0 || folder.files === 0) return;
    const share = `${Math.floor((100 * this.#done) / this.#files)} %`.padStart(5);
    const name = `${report.project} ${dirname(report.path)}`.padEnd(34);
    const files = `${folder.files} file${folder.files === 1 ? "" : "s"}`.padStart(9);
    this.#print(
      `${share}  ${name} ${files} ${String(folder.tests).padStart(6)} tests ${seconds(folder.ms)}`,
    );
  }

  #folderOf(run: string, path: string) {
    const key = `${run} ${dirname(path)}`;
    const folder = this.#folders.get(key) ?? { left: 0, tests: 0, files: 0, ms: 0 };
    this.#folders.set(key, folder);
    return folder;
  }

  #fail(name: string, text: string): void {
    this.failed.push(name);
    this.#print(`FAIL  ${name}\n${text}`);
  }

  #print(line: string): void {
    console.log(`${process.stdout.isTTY ? "\r\x1b[K" : ""}${line}`);
  }

  #status(): void {
    if (!process.stdout.isTTY) return;
    const failed = this.failed.length === 0 ? "" : `, ${this.failed.length} failed`;
    process.stdout.write(`\r\x1b[K${this.#done} of ${this.#files} files${failed}`);
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`.padStart(8);
}

/** Runs a job. What it prints goes to a file, whose end is shown if the job fails and no test says why. */
async function runJob({ name, command }: Job, progress: Progress): Promise<boolean> {
  const startMs = Date.now();
  const path = join(logs, `${name}.log`);
  const log = openSync(path, "w");
  const [program = "", ...parameters] = command;
  const child = spawn(program, parameters, {
    cwd: root,
    stdio: ["ignore", log, log, "ipc"],
    env: { ...process.env, [process.stdout.isTTY ? "FORCE_COLOR" : "NO_COLOR"]: "1" },
  });
  closeSync(log);
  const failed = progress.failed.length;
  child.on("message", (report: TestReport) => progress.take(name, report));
  const [status] = (await once(child, "close")) as [number | null];
  const isComplete = progress.end(name, Date.now() - startMs);
  if ((status !== 0 || !isComplete) && progress.failed.length === failed) {
    progress.take(name, { kind: "error", text: readFileSync(path, "utf8").slice(-10_000) });
  }
  return status === 0 && isComplete;
}

/**
 * Runs a job, and once more those files of it in which tests failed. The summary names them: a machine that is
 * busy with other jobs can be too slow for a browser, but a fault that comes and goes has to be seen too.
 */
async function runJobTwice(job: Job, progress: Progress): Promise<boolean> {
  if (await runJob(job, progress)) return true;
  const files = progress.failedFiles.get(job.name);
  if (job.only === undefined || files === undefined || files.size > MAX_REPEATED) return false;
  const again = { name: `${job.name}-again`, command: job.only([...files]) };
  if (!(await runJob(again, progress))) return false;
  progress.forgive(files);
  return true;
}

/** After a failure, the jobs that run go on to their end, and no others start. */
async function runAll(lanes: Lanes, progress: Progress, run = runJob): Promise<boolean> {
  let passes = true;
  const runLane = async (jobs: Iterable<Job>) => {
    for (const job of jobs) if (passes && !(await run(job, progress))) passes = false;
  };
  await Promise.all(lanes.map(runLane));
  return passes;
}

async function main([first, ...others]: readonly string[]): Promise<boolean> {
  if (first !== undefined && first !== "--all") {
    const projects = SELECTED.map((name) => `--project=${name}`);
    const vitest = spawn("vitest", ["run", ...projects, first, ...others], { stdio: "inherit" });
    const [status] = (await once(vitest, "exit")) as [number | null];
    return status === 0;
  }
  mkdirSync(logs, { recursive: true });
  const what = first === "--all" ? "all tests" : "the quick tests";
  console.log(
    `Runs ${what}, several jobs at a time. What programs print is in ${relative(root, logs)}.`,
  );
  if (!others.includes("--rest")) rmSync(times, { force: true });
  const progress = new Progress();
  // Its name is short because it holds sockets, whose paths have at most 107 bytes.
  const temporary = mkdtempSync(join(tmpdir(), "t-"));
  process.env["TMPDIR"] = temporary;
  let passes = others.includes("--rest") || (await runAll(QUICK, progress));
  if (first === "--all") {
    process.env["SAMPLES"] ??= "all";
    passes &&= await runAll(REST, progress, runJobTwice);
  }
  rmSync(temporary, { recursive: true, force: true });
  progress.summarize();
  return passes && progress.failed.length === 0;
}

if (!(await main(process.argv.slice(2)))) process.exitCode = 1;
