/**
 * Runs the tests that `npm test` leaves out: `npm run test:rest`. These are slow tests, processes, browsers, kills,
 * examples and templates. With `SAMPLES=12`, properties take a twelfth of their samples; without it, all.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const root = join(import.meta.dirname, "..");
const startMs = Date.now();
const { SAMPLES = "all" } = process.env;
// The quick tests have taken a tenth of the samples: fewer, with the same seed, are among them.
const tags = SAMPLES === "all" || Number(SAMPLES) < 10 ? "slow or sampled" : "slow";

/** Arguments of Vitest; the longest first, so that lanes end together. The last two install packages. */
const jobs = [
  ["--project=large-process", "--shard=2/2"],
  ["--project=process", "--project=browser"],
  ["--project=large-process", "--shard=1/2"],
  ["--project=node", "--project=workerd", `--tagsFilter=${tags}`, ...filesWith(tags)],
  ["--project=large-workerd"],
  ["--project=large", "--shard=1/2"],
  ["--project=templates", "examples"],
  ["--project=large", "--shard=2/2"],
  ["--project=templates", "create-byref"],
].values();

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

// Its name is short because it holds sockets, whose paths have at most 107 bytes.
const TMPDIR = mkdtempSync(join(tmpdir(), "t-"));
const failed: string[] = [];

/** Runs jobs one after the other. After a failure of any lane, the jobs that run go on to their end. */
async function runLane(): Promise<void> {
  for (const options of jobs) {
    const name = options.slice(0, 2).join(" ");
    // A busy machine can be too slow for a browser: Vitest repeats a failed test once, and says so.
    const parameters = ["run", "--maxWorkers=1", "--retry=1", ...options];
    const child = spawn(process.execPath, ["node_modules/vitest/vitest.mjs", ...parameters], {
      cwd: root,
      env: { ...process.env, NO_COLOR: "1", SAMPLES, TMPDIR },
      stdio: ["ignore", "inherit", "inherit"],
    });
    const [status] = (await once(child, "close")) as [number | null];
    console.log(`${Math.round((Date.now() - startMs) / 1_000)} s: ${name} has ended`);
    if (status !== 0) failed.push(name);
    if (failed.length > 0) return;
  }
}

// Three, because servers wait at times.
await Promise.all([runLane(), runLane(), runLane()]);
rmSync(TMPDIR, { recursive: true, force: true });
console.log(failed.length === 0 ? "All passed." : `Failed:\n  ${failed.join("\n  ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
