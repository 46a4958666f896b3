/**
 * Replays recorded tool calls through the real wrapped tool: `npm run replay -- FOLDER`. `--through-mcp` uses a
 * running Worker, with a scripted model in front and MCP servers behind it. `--through-gateway` uses an MCP client
 * in front of the gateway. `--as-plans` replays plans whose calls are shuffled (`--seed N`). The folder is read in
 * place (format: `test/support/replay.ts`) and never copied.
 */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { lookupIn } from "../src/reference/lookup-in.ts";
import { Random } from "../test/chaos/random.ts";
import { expandInPieces } from "../test/support/fuzz.ts";
import { replayThroughGateway } from "../test/support/gateway-replay.ts";
import { replayThroughMcp } from "../test/support/mcp-replay.ts";
import { replayAsPlans } from "../test/support/replay-as-plans.ts";
import { replay, type Trace } from "../test/support/replay.ts";

type Line = Trace & { readonly text?: string };
/** How much was replayed, and what went wrong. */
type Replay = { readonly runs: number; readonly failures: readonly unknown[] };

const SPELLINGS = ["dollar", "mustache", "dagger"] as const;
const CUTS_PER_TEXT = 50;
const SHUFFLES = 3;
/** Variables whose names do not occur in any text. */
const lookup = lookupIn({ byref_absent_1: 1, byref_absent_2: { a: [1, 2] } });
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "through-mcp": { type: "boolean" },
    "through-gateway": { type: "boolean" },
    "as-plans": { type: "boolean" },
    seed: { type: "string", default: "1" },
  },
});
const [folder] = positionals;
if (folder === undefined) {
  console.error(
    "npm run replay -- [--through-mcp | --through-gateway | --as-plans [--seed N]] FOLDER",
  );
  process.exit(2);
}

const seeds = new Random(Number(options.seed));
const served =
  options["through-mcp"] === true
    ? replayThroughMcp
    : options["through-gateway"] === true
      ? replayThroughGateway
      : undefined;
const files = globSync(join(folder, "*.jsonl")).sort();
const rows = [];
// One server replays all files.
for (const paths of served === undefined ? files.map((file) => [file]) : [files]) {
  const texts = paths.flatMap((path) => readFileSync(path, "utf8").split("\n"));
  const lines = texts.filter((line) => line !== "").map((line) => JSON.parse(line) as Line);
  const { runs, failures } =
    served === undefined ? await replayAll(lines) : await serve(lines, served);
  for (const failure of failures.slice(0, 10))
    console.error(JSON.stringify(failure).slice(0, 2_000));
  const file = paths.map((path) => basename(path, ".jsonl")).join(" ");
  rows.push({ file, lines: lines.length, runs, failures: failures.length });
}
console.table(rows);
const failed = rows.reduce((sum, row) => sum + row.failures, 0);
const passed = rows.reduce((sum, row) => sum + row.runs, -failed);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

/** A text without references becomes the input of a tool. */
async function serve(
  lines: readonly Line[],
  replayServed: typeof replayThroughMcp,
): Promise<Replay> {
  const traces = lines.map(({ text, ...line }): Trace => {
    if (text === undefined) return line;
    const taken = { refs: [], expect: { text }, output: "taken" };
    const step = { tool: "take_text", input: { text }, ...taken };
    return { ...line, steps: [step] };
  });
  const { failures } = await replayServed(traces, () => undefined);
  return { runs: traces.reduce((sum, { steps }) => sum + steps.length, 0), failures };
}

async function replayAll(lines: readonly Line[]): Promise<Replay> {
  const failures: unknown[] = [];
  let runs = 0;
  for (const [index, line] of lines.entries()) {
    if (options["as-plans"] === true) {
      // A text has no calls.
      if (line.text !== undefined) continue;
      const result = await replayAsPlans(line, { seed: seeds.next(), shuffles: SHUFFLES });
      if (result.kind === "skipped") continue;
      runs += result.runs;
      failures.push(...result.failures);
    } else if (line.text === undefined) {
      runs += line.steps.length * SPELLINGS.length;
      for (const spelling of SPELLINGS) failures.push(...(await replay(line, spelling)));
    } else {
      runs += CUTS_PER_TEXT;
      // Texts without references must be unchanged, however they are cut.
      for (let cut = 0; cut < CUTS_PER_TEXT; cut++) {
        const options = { syntaxes: SPELLINGS, seed: index * CUTS_PER_TEXT + cut };
        if ((await expandInPieces(line.text, lookup, options)) !== line.text)
          failures.push({ text: line.text, seed: options.seed });
      }
    }
  }
  return { runs, failures };
}
