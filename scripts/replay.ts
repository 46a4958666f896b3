/**
 * Replays recorded tool calls through the real wrapped tool: `npm run replay -- FOLDER`. The folder is
 * read in place (format: `test/support/replay.ts`); nothing of it is kept.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { lookupIn } from "../src/reference/lookup-in.ts";
import { Expander } from "../src/reference/expand.ts";
import { type Failure, replay, type Spelling, type Trace } from "../test/support/replay.ts";

const spellings: readonly Spelling[] = ["dollar", "mustache", "dagger"];
const CUTS_PER_TEXT = 50;
/** Variables whose names occur in no text. */
const lookup = lookupIn({ byref_absent_1: 1, byref_absent_2: { a: [1, 2] } });
const folder = process.argv.slice(2).find((argument) => !argument.startsWith("--"));
if (folder === undefined) {
  console.error("Say which folder: npm run replay -- FOLDER");
  process.exit(2);
}

let failed = 0;
let passed = 0;
const rows: string[][] = [];
for (const file of readdirSync(folder)
  .filter((name) => name.endsWith(".jsonl"))
  .sort()) {
  const records = readFileSync(join(folder, file), "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const parsed = records.map((line) => JSON.parse(line) as Trace & { text?: string });
  rows.push(
    parsed.some((record) => record.text !== undefined)
      ? await replayTexts(
          file,
          parsed.map((record) => record.text ?? ""),
        )
      : await replayTraces(file, parsed),
  );
}
printTable(["file", "records", "steps or texts", "references", "failures"], rows);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

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

/** Texts whose dollars mean nothing come out as they went in, however they are cut. */
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

function printTable(head: readonly string[], body: readonly (readonly string[])[]): void {
  const lines = [head, ...body];
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  for (const line of lines) {
    console.log(line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "));
  }
}
