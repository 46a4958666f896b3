import { isDeepStrictEqual } from "node:util";
import { jsonSchema, tool } from "ai";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import { isJsonArray, isJsonObject, type Json } from "../../src/value/json.ts";
import { formatPath, type Path } from "../../src/value/path.ts";

/** One step of a recorded conversation: a call with references, its resolved input and its output. */
export interface Step {
  readonly tool: string;
  /** The variable that the output is saved as. With `labels`, each entry of the output has its own name. */
  readonly label?: string | null;
  readonly labels?: readonly string[];
  /** `⟦k⟧` marks the place of the k-th entry of `refs`. */
  readonly input: Json;
  readonly refs: readonly { readonly name: string; readonly path: readonly (string | number)[] }[];
  readonly expect: Json;
  readonly output: Json;
}

export type Trace = { readonly id: string; readonly steps: readonly Step[] };

export type Spelling = "dollar" | "mustache" | "dagger";

export interface Failure {
  readonly id: string;
  readonly step: number;
  readonly spelling: Spelling;
  readonly input: Json;
  readonly expected: Json;
  readonly actual: unknown;
}

/** Runs every step through the real wrapped tool. Returns the steps whose tool received a different input. */
export async function replay(trace: Trace, spelling: Spelling): Promise<readonly Failure[]> {
  const store = new MemoryStore();
  const failures: Failure[] = [];
  for (const [index, step] of trace.steps.entries()) {
    const input = written(step, spelling);
    const actual = await callThrough(store, step, { input, spelling });
    if (!isDeepStrictEqual(actual, step.expect)) {
      const place = { id: trace.id, step: index, spelling };
      failures.push({ ...place, input, expected: step.expect, actual });
    }
  }
  return failures;
}

async function callThrough(
  store: MemoryStore,
  step: Step,
  { input, spelling }: { input: Json; spelling: Spelling },
): Promise<unknown> {
  let received: unknown;
  const recorded = tool({
    inputSchema: jsonSchema<Json>({ type: "object" }),
    execute: (given) => {
      received = given;
      return step.output;
    },
  });
  const { label } = step;
  const wrapped = await wrapTool(step.tool, recorded, {
    store,
    syntaxes: [spelling],
    ...(typeof label === "string" ? { naming: () => label } : {}),
  });
  const signal = new AbortController().signal;
  const ready = await wrapped.prepare(input, { toolCallId: "call", messages: [], signal });
  if (ready.kind === "failed") return { code: ready.code, message: ready.message };
  const run = await ready.run();
  if (run.kind === "failed") return { code: run.code, message: run.message };
  if (step.labels === undefined) await run.save();
  for (const name of step.labels ?? [])
    await store.save({ name, value: entryOf(step.output, name) });
  return received;
}

/** Returns the value saved under one of several labels. */
export function entryOf(output: Json, name: string): Json {
  return isJsonObject(output) ? (output[name] ?? null) : null;
}

/** Returns the step's input as a model writes it, with references in one syntax. */
function written(step: Step, spelling: Spelling): Json {
  return writtenWith(
    step,
    step.refs.map(({ name, path }) => spell(name, path.map(toSegment), spelling)),
  );
}

/** Returns the step's input with these texts in place of its references. */
export function writtenWith(step: Step, sources: readonly string[]): Json {
  const write = (value: Json): Json => {
    if (typeof value === "string") return value.replaceAll(/⟦(\d+)⟧/g, (_, k) => sources[k] ?? "");
    if (isJsonArray(value)) return value.map(write);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, write(inner)]));
  };
  return write(step.input);
}

export function toSegment(step: string | number) {
  return typeof step === "number" ? { index: step } : { key: step };
}

function spell(name: string, path: Path, spelling: Spelling): string {
  const reference = `${name}${formatPath(path)}`;
  if (spelling === "mustache") return `{{${reference}}}`;
  return `${spelling === "dollar" ? "$" : "†"}${reference}`;
}

/**
 * Returns the reference to a step's result, using the variables' names. If several results have the label, or
 * an entry with it, the newest counts.
 */
export function sourceOf(
  { name, path }: Step["refs"][number],
  steps: readonly Step[],
  variables: readonly (string | undefined)[],
): string {
  const done = steps.slice(0, variables.length);
  const index = done.findLastIndex(({ label, labels }) => label === name || labels?.includes(name));
  const isEntry = done[index]?.label !== name;
  const full = isEntry ? [name, ...path] : path;
  return `$${variables[index] ?? "unknown"}${formatPath(full.map(toSegment))}`;
}
