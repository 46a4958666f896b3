import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { type RunnerTestCase, TestRunner } from "vitest";

type Hits = Record<string, number>;

/** The state shared between the instrumented sources and their runner. */
interface Switches {
  activeMutant?: string;
  currentTestId?: string;
  hitCount?: number;
  hitLimit?: number;
  mutantCoverage?: { static: Hits; perTest: Record<string, Hits> };
}

/** A test that takes so much longer than without mutants waits for something that never comes. */
const MAX_WAIT_MS = 2_000;
const MAX_TIMES = 5;
/** The real clock: tests replace it. */
const { setTimeout: wait, clearTimeout: stopWaiting } = globalThis;
const now = performance.now.bind(performance);
/** A mutant counts as an endless loop if it is reached this many times as often as the original code. */
const MAX_HITS = 100;
const RESULTS = process.env["MUTATION_RESULTS"] ?? "";

const shared = globalThis as { __stryker__?: Switches };
const switches = (shared.__stryker__ ??= {});
/** Mutants that need no further test, from this process and earlier ones that hung. */
const decided = new Set(
  existsSync(RESULTS)
    ? readFileSync(RESULTS, "utf8")
        .split("\n")
        .filter((line) => line.startsWith('{"killed"'))
        .map((line) => (JSON.parse(line) as { killed: string }).killed)
    : [],
);

function write(line: object): void {
  appendFileSync(RESULTS, `${JSON.stringify(line)}\n`);
}

/** A mutant that a test executes. */
interface Trial {
  readonly id: string;
  /** How often the test executes it. */
  readonly hits: number;
  readonly limitMs: number;
}

/** Runs each test once without mutants, and once for each covered mutant that no test has killed. */
export default class MutantRunner extends TestRunner {
  async runTask(test: RunnerTestCase): Promise<void> {
    const work = TestRunner.getTestFn(test);
    switches.currentTestId = test.id;
    const startMs = now();
    await work();
    const limitMs = MAX_WAIT_MS + MAX_TIMES * (now() - startMs);
    delete switches.currentTestId;
    const hits = switches.mutantCoverage?.perTest[test.id] ?? {};
    write({
      covered: Object.keys(hits),
      loaded: Object.keys(switches.mutantCoverage?.static ?? {}),
    });
    for (const [id, count] of Object.entries(hits)) {
      if (!decided.has(id)) await this.#tryMutant(test, { id, hits: count, limitMs });
    }
  }

  async #tryMutant(test: RunnerTestCase, { id, hits, limitMs }: Trial): Promise<void> {
    write({ began: id });
    try {
      await callHooks(test, "afterEach");
      await callHooks(test, "beforeEach");
      // Coverage of this run must not count as that of the test or of loading.
      switches.currentTestId = "mutant";
      Object.assign(switches, { activeMutant: id, hitCount: 0, hitLimit: hits * MAX_HITS });
      await within(limitMs, TestRunner.getTestFn(test)());
    } catch (error) {
      decided.add(id);
      write({ killed: id, isLate: /Hit count limit|timed out/u.test(String(error)) });
    } finally {
      delete switches.currentTestId;
      delete switches.activeMutant;
      delete switches.hitCount;
    }
  }
}

/** Rejects if the test does not end. */
async function within(limitMs: number, work: unknown): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = wait(() => reject(new Error("The test timed out.")), limitMs);
  try {
    await Promise.race([work, promise]);
  } finally {
    stopWaiting(timer);
  }
}

/** Calls the hooks of the test's suites, the outermost first. */
async function callHooks(test: RunnerTestCase, kind: "beforeEach" | "afterEach"): Promise<void> {
  const suites = [];
  for (let suite = test.suite; suite !== undefined; suite = suite.suite) suites.unshift(suite);
  for (const suite of [test.file, ...suites]) {
    for (const hook of TestRunner.getSuiteHooks(suite)[kind]) await hook(test.context, suite);
  }
}
