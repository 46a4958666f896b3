/**
 * Runs tests. `npm test` runs the quick ones: Node and workerd, and the smoke test of a server and its page.
 * `npm run test:all` runs these and all others; with `--rest` only the others. Other arguments go to Vitest, for
 * instance a part of a file's name; then one process runs all projects, so that a name that no file has is an error.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";

interface Job {
  readonly name: string;
  /** Arguments of Vitest. */
  readonly options: readonly string[];
}

const root = join(import.meta.dirname, "..");
const logs = join(root, "node_modules/.cache/byref-tests");
const VITEST = ["node_modules/vitest/vitest.mjs", "run", "--silent=passed-only"];
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
  // The quick tests have taken a tenth of the samples: fewer, with the same seed, are among them.
  const { SAMPLES = "all" } = process.env;
  const tags = SAMPLES === "all" || Number(SAMPLES) < 10 ? "slow or sampled" : "slow";
  const slow = [`--tagsFilter=${tags}`, ...filesWith(tags)];
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

/** Files that have tests with one of these tags, of their own or of a suite. To load all others takes minutes. */
function filesWith(tags: string): readonly string[] {
  const files = globSync("{test,page/test,packages/*/test}/**/*.{ts,tsx}", { cwd: root });
  const used = tags.replaceAll(" or ", "|");
  const tag = new RegExp(`\\b(?:${used})\\b[^}]*\\} from ".*/slow\\.ts"|tags: \\["(?:${used})"`);
  const texts = files.map((file) => [file, readFileSync(join(root, file), "utf8")] as const);
  const tagged = texts.flatMap(([file, text]) => (tag.test(text) ? [file] : []));
  const suites = tagged.filter((file) => !/\.test\.tsx?$|\/slow\.ts$/.test(file));
  const isOfSuite = (text: string) => suites.some((suite) => text.includes(`/${basename(suite)}"`));
  const isChosen = ([file, text]: (typeof texts)[number]) =>
    /\.test\.tsx?$/.test(file) && (tagged.includes(file) || isOfSuite(text));
  return texts.filter(isChosen).map(([file]) => file);
}

/** A job with more failed files is not repeated. */
const MAX_REPEATED = 3;
const startMs = Date.now();
const failures: string[] = [];
const repeated: string[] = [];
/** Counts of tests by job and file: a file that is run again counts once. */
const results = new Map<string, { passed: number; failed: number; skipped: number }>();

/** Runs a job. What it prints goes to a file, whose end is shown if the job fails. Returns the files that failed. */
async function runJob({ name, options }: Job): Promise<readonly string[] | undefined> {
  const log = join(logs, `${name}.log`);
  rmSync(log, { force: true });
  const child = spawn(process.execPath, [...VITEST, "--reporter=default", ...options], {
    cwd: root,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  child.stderr.on("data", (chunk: Buffer) => appendFileSync(log, chunk));
  const beganMs = Date.now();
  const job = name.replace(/-again$/, "");
  const folder = { name: "", files: 0, tests: 0 };
  const endFolder = (next: string) => {
    if (folder.files > 0)
      say(`${folder.name.padEnd(44)} ${folder.files} files, ${folder.tests} tests`);
    Object.assign(folder, { name: next, files: 0, tests: 0 });
  };
  for await (const line of createInterface({ input: child.stdout })) {
    appendFileSync(log, `${line}\n`);
    const [, project, file, counts = ""] =
      /^ \S \|([^|]+)\| (\S+) \((.*)\) *\d+ms/.exec(line) ?? [];
    if (project === undefined || file === undefined) continue;
    const count = (what: string) => Number(new RegExp(`(\\d+) ${what}`).exec(counts)?.[1] ?? 0);
    const [failed, skipped] = [count("failed"), count("skipped")];
    const passed = count("test") - failed - skipped;
    results.set(`${job} ${project} ${file}`, { passed, failed, skipped });
    if (folder.name !== `${project} ${dirname(file)}`) endFolder(`${project} ${dirname(file)}`);
    folder.files++;
    folder.tests += passed;
  }
  endFolder("");
  const [status] = (await closed) as [number | null];
  say(`${name} ended after ${Math.round((Date.now() - beganMs) / 1_000)} s`);
  results.delete(job);
  if (status === 0) return undefined;
  const text = readFileSync(log, "utf8");
  const named = text.matchAll(/^ FAIL {2}(?:\|[^|]+\| )?([\w./-]+)/gm);
  const files = [...new Set(Array.from(named, ([, path = ""]) => path))];
  const isCounted = [...results].some(([key, one]) => one.failed > 0 && key.startsWith(`${job} `));
  // A hook, or an error outside of the tests.
  if (!isCounted) results.set(job, { passed: 0, failed: 1, skipped: 0 });
  failures.push(...files, ...(files.length === 0 ? [name] : []));
  const start = text.search(/^⎯+ Failed/m);
  const printed = text.match(/^std(?:out|err) \|.*\n(?:.+\n)*/gm) ?? [];
  console.log(printed.join("\n").slice(-10_000));
  console.log(text.slice(start === -1 ? -10_000 : start).slice(0, 20_000));
  return files;
}

/**
 * Runs a job, and once more those files of it in which tests failed. The summary names them: a machine that is busy
 * with other jobs can be too slow for a browser, but a fault that comes and goes has to be seen too.
 */
async function isGreen(job: Job, isRepeated: boolean): Promise<boolean> {
  const files = await runJob(job);
  if (files === undefined) return true;
  if (!isRepeated || files.length === 0 || files.length > MAX_REPEATED) return false;
  const kept = job.options.filter((option) => /^--(?!shard)/.test(option));
  if ((await runJob(vitest(`${job.name}-again`, ...kept, ...files))) !== undefined) return false;
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
    const projects = ["--project=!large-process", "--project=!templates"];
    return (
      spawnSync("vitest", ["run", ...projects, first, ...others], { stdio: "inherit" }).status === 0
    );
  }
  mkdirSync(logs, { recursive: true });
  console.log(`Runs several jobs at a time. What they print is in ${relative(root, logs)}.`);
  // Its name is short because it holds sockets, whose paths have at most 107 bytes.
  const temporary = mkdtempSync(join(tmpdir(), "t-"));
  process.env["TMPDIR"] = temporary;
  let passes = others.includes("--rest") || (await runAll(QUICK));
  if (first === "--all") {
    process.env["SAMPLES"] ??= "all";
    passes &&= await runAll(rest(), true);
  }
  rmSync(temporary, { recursive: true, force: true });
  const sum = (of: "passed" | "failed" | "skipped") =>
    [...results.values()].reduce((all, counts) => all + counts[of], 0);
  say(`${results.size} files`);
  if (repeated.length > 0)
    console.log(`\nFailed, and passed when run again:\n  ${repeated.join("\n  ")}`);
  if (failures.length > 0) console.error(`\nFailed:\n  ${failures.join("\n  ")}`);
  const skipped = sum("skipped") === 0 ? "" : `, ${sum("skipped")} skipped`;
  console.log(`${sum("passed")} passed, ${sum("failed")} failed${skipped}`);
  return passes;
}

if (!(await main(process.argv.slice(2)))) process.exitCode = 1;
