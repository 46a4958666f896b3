/**
 * Replays recorded tool calls through the real wrapped tool: `npm run replay -- FOLDER`. `--through-mcp` uses a
 * running Worker, with a scripted model in front and MCP servers behind it. `--through-gateway` uses an MCP client
 * in front of the gateway. `--as-plans` replays plans whose calls are shuffled (`--seed N`). The folder is read in
 * place (format: `test/support/replay.ts`) and never copied.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { lookupIn } from "../src/reference/lookup-in.ts";
import { Expander } from "../src/reference/expand.ts";
import { Random } from "../test/chaos/random.ts";
import { replayThroughGateway } from "../test/support/gateway-replay.ts";
import { replayThroughMcp } from "../test/support/mcp-replay.ts";
import { type PlanReplay, replayAsPlans } from "../test/support/replay-as-plans.ts";
import { type Failure, replay, type Spelling, type Trace } from "../test/support/replay.ts";
import { aligned } from "./aligned.ts";

const spellings: readonly Spelling[] = ["dollar", "mustache", "dagger"];
const CUTS_PER_TEXT = 50;
const SHUFFLES = 3;
/** Variables whose names do not occur in any text. */
const lookup = lookupIn({ byref_absent_1: 1, byref_absent_2: { a: [1, 2] } });
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "through-mcp": { type: "boolean", default: false },
    "through-gateway": { type: "boolean", default: false },
    "as-plans": { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
  },
});
const [folder] = positionals;
const seed = Number(options.seed);
if (folder === undefined || !Number.isInteger(seed)) {
  console.error(
    "npm run replay -- [--through-mcp | --through-gateway | --as-plans [--seed N]] FOLDER",
  );
  process.exit(2);
}

let failed = 0;
let passed = 0;
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".jsonl"))
  .sort();
if (options["through-mcp"]) await replayServed(files, replayThroughMcp);
else if (options["through-gateway"]) await replayServed(files, replayThroughGateway);
else if (options["as-plans"]) await replayPlans(files);
else await replayFiles(files);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

type Line = Trace & { readonly text?: string };

function linesOf(file: string): readonly Line[] {
  return readFileSync(join(folder ?? "", file), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);
}

async function replayFiles(files: readonly string[]): Promise<void> {
  const rows: string[][] = [];
  for (const file of files) {
    const parsed = linesOf(file);
    const isTexts = parsed.some((record) => record.text !== undefined);
    const texts = parsed.map((record) => record.text ?? "");
    rows.push(isTexts ? await replayTexts(file, texts) : await replayTraces(file, parsed));
  }
  console.log(aligned([["file", "records", "steps or texts", "references", "failures"], ...rows]));
}

/** Replays all files together. A text without references becomes the input of a tool. */
async function replayServed(
  files: readonly string[],
  replayAll: typeof replayThroughMcp,
): Promise<void> {
  const lines = files.flatMap((file) => linesOf(file).map((line) => ({ file, line })));
  const traces = lines.map(({ line }): Trace => {
    if (line.text === undefined) return line;
    const input = { text: line.text };
    return {
      id: line.id,
      steps: [{ tool: "take_text", input, refs: [], expect: input, output: "taken" }],
    };
  });
  const { calls, failures, milliseconds } = await replayAll(traces, (done) => {
    if (done % 50 === 0) console.error(`${done} of ${traces.length} conversations`);
  });
  for (const failure of failures.slice(0, 10))
    console.error(JSON.stringify(failure).slice(0, 2_000));
  const rows = files.map((file) => {
    const own = traces.filter((_, index) => lines[index]?.file === file);
    const ids = new Set(own.map(({ id }) => id));
    const steps = own.flatMap((trace) => trace.steps);
    const references = steps.reduce((sum, step) => sum + step.refs.length, 0);
    const wrong = failures.filter(({ id }) => ids.has(id)).length;
    count(steps.length, wrong);
    return [file, own.length, steps.length, references, wrong].map(String);
  });
  console.log(aligned([["file", "conversations", "steps", "references", "failures"], ...rows]));
  const seconds = milliseconds / 1_000;
  const rate = Math.round(calls / seconds);
  console.log(`\n${calls} calls came to the servers in ${seconds.toFixed(1)} s: ${rate} a second`);
}

/** Replays each trace as a plan, in the written order and in others, over each store. */
async function replayPlans(files: readonly string[]): Promise<void> {
  const began = performance.now();
  const rows: string[][] = [];
  const skipped = new Map<string, number>();
  const seeds = new Random(seed);
  for (const file of files) {
    const row = { lines: 0, plans: 0, calls: 0, runs: 0, failures: 0 };
    for (const line of linesOf(file)) {
      row.lines++;
      const made = await replayPlan(line, seeds.next());
      if (made.kind === "skipped") {
        skipped.set(made.reason, (skipped.get(made.reason) ?? 0) + 1);
        continue;
      }
      for (const failure of made.failures.slice(0, 3))
        console.error(JSON.stringify(failure).slice(0, 2_000));
      row.plans++;
      row.calls += line.steps.length;
      row.runs += made.runs;
      row.failures += new Set(made.failures.map(({ store, order }) => `${store} ${order}`)).size;
    }
    count(row.runs, row.failures);
    rows.push([file, ...Object.values(row).map(String)]);
  }
  console.log(aligned([["file", "lines", "plans", "calls", "runs", "failures"], ...rows]));
  for (const [reason, times] of skipped) console.log(`skipped: ${times}, ${reason}`);
  const seconds = (performance.now() - began) / 1_000;
  console.log(
    `\nseed ${seed}, ${SHUFFLES} shuffles beside the written order, ${seconds.toFixed(1)} s`,
  );
}

function replayPlan(line: Line, seed: number): Promise<PlanReplay> | PlanReplay {
  if (line.text !== undefined) return { kind: "skipped", reason: "a text without calls" };
  return replayAsPlans(line, { seed, shuffles: SHUFFLES });
}

async function replayTraces(file: string, traces: readonly Trace[]): Promise<string[]> {
  const failures: Failure[] = [];
  for (const trace of traces) {
    for (const spelling of spellings) failures.push(...(await replay(trace, spelling)));
  }
  for (const failure of failures.slice(0, 3)) console.error(JSON.stringify(failure));
  const steps = traces.flatMap((trace) => trace.steps);
  const references = steps.reduce((sum, step) => sum + step.refs.length, 0);
  count(steps.length * spellings.length, failures.length);
  return [file, traces.length, `${steps.length} × 3`, references, failures.length].map(String);
}

/** Texts without references must be unchanged, however they are cut. */
async function replayTexts(file: string, texts: readonly string[]): Promise<string[]> {
  let failures = 0;
  for (const [index, text] of texts.entries()) {
    for (let cut = 0; cut < CUTS_PER_TEXT; cut++) {
      if ((await expanded(text, index * CUTS_PER_TEXT + cut)) !== text) failures++;
    }
  }
  count(texts.length * CUTS_PER_TEXT, failures);
  return [file, texts.length, `${texts.length} × ${CUTS_PER_TEXT}`, 0, failures].map(String);
}

async function expanded(text: string, seed: number): Promise<string> {
  const expander = new Expander(lookup, { syntaxes: ["dollar", "mustache", "dagger"] });
  let result = "";
  const emit = (piece: string) => {
    result += piece;
  };
  let state = seed + 1;
  for (let start = 0; start < text.length;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const end = start + 1 + ((state >>> 8) % 17);
    await expander.write(text.slice(start, end), emit);
    start = end;
  }
  await expander.flush(emit);
  return result;
}

function count(total: number, failures: number): void {
  failed += failures;
  passed += total - failures;
}
