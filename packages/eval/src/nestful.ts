import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { json } from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";
import type { Task } from "./task.ts";

const callSchema = z.object({
  name: z.string(),
  label: z.string(),
  arguments: z.record(z.string(), z.json()),
});

const toolSchema = z.object({
  name: z.string(),
  description: z.string().default(""),
  parameters: z.record(z.string(), z.json()).default({}),
});

/** Some editions have a field as JSON, and others as the text of JSON. */
const fromText = (value: unknown) => (typeof value === "string" ? json.jsonIn(value) : value);

const rowSchema = z.object({
  sample_id: z.string(),
  input: z.string(),
  output: z.preprocess(fromText, z.array(callSchema).min(1)),
  tools: z.preprocess(fromText, z.array(toolSchema)),
  gold_answer: z.coerce.number(),
});

/** Functions of the set that are the same everywhere. A question that needs another one is left out. */
const functions: Readonly<Record<string, (...all: readonly number[]) => number>> = {
  add: (a = 0, b = 0) => a + b,
  subtract: (a = 0, b = 0) => a - b,
  multiply: (a = 0, b = 0) => a * b,
  divide: (a = 0, b = 0) => a / b,
  power: (a = 0, b = 0) => a ** b,
  sqrt: (a = 0) => Math.sqrt(a),
  floor: (a = 0) => Math.floor(a),
  max: (a = 0, b = 0) => Math.max(a, b),
  min: (a = 0, b = 0) => Math.min(a, b),
  negate: (a = 0) => -a,
  inverse: (a = 0) => 1 / a,
  factorial: (a = 0) => product(a),
  gcd: (a = 0, b = 0) => divisor(a, b),
  lcm: (a = 0, b = 0) => (a * b) / divisor(a, b),
  remainder: (a = 0, b = 0) => a % b,
  reminder: (a = 0, b = 0) => a % b,
};

const TOLERANCE = 1e-6;

/** Reads the tasks of all `.jsonl` files in a folder and below, in the order of names. Throws if there are none. */
export function nestfulTasks(folder: string): readonly Task[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  const tasks = names
    .filter((name) => name.endsWith(".jsonl"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .filter((line) => line.trim() !== "")
    .map((line): unknown => JSON.parse(line))
    .flatMap((record) => nestfulTask(record) ?? []);
  if (tasks.length === 0)
    throw new Error(`${folder} has no records of nestful that can be played.`);
  return [...new Map(tasks.map((task) => [task.id, task])).values()];
}

/**
 * Makes a task of a row of NESTFUL v2. Undefined for a row whose functions are not known here, or whose gold
 * calls do not give its gold answer.
 */
function nestfulTask(record: unknown): Task | undefined {
  const row = rowSchema.safeParse(record);
  if (!row.success) return undefined;
  const { sample_id: id, input: question, output, tools: offered, gold_answer: answer } = row.data;
  const known = offered.filter(({ name }) => Object.hasOwn(functions, name));
  if (!isSame(goldResult(output), answer)) return undefined;
  return {
    id: `nestful-${id}`,
    family: "nestful",
    question: `${question}\n\nCompute it with the tools only, one call after the other; each returns {"result": …}. Answer with the last result.`,
    tools: Object.fromEntries(known.map((one) => [one.name, definitionOf(one)])),
    check(received) {
      const output = received.at(-1)?.output;
      const last = json.isObject(output) ? Number(output.result) : undefined;
      if (isSame(last, answer)) return { isRight: true };
      return { isRight: false, why: `${String(last)} in place of ${answer}` };
    },
  };
}

function definitionOf({
  name,
  description,
  parameters,
}: z.infer<typeof toolSchema>): Task["tools"][string] {
  const keys = Object.keys(parameters);
  return {
    description,
    input: Object.fromEntries(keys.map((key) => [key, z.number().optional()])),
    run: (input) => ({
      result: functions[name]?.(...keys.map((key) => Number(input[key]))) ?? Number.NaN,
    }),
  };
}

/** Makes the gold calls. NaN if one is not known. */
function goldResult(calls: readonly z.infer<typeof callSchema>[]): number {
  const results = new Map<string, json.JsonObject>();
  let last = Number.NaN;
  for (const { name, label, arguments: given } of calls) {
    const all = Object.values(given).map((value) => Number(resolved(value, results)));
    last = Object.hasOwn(functions, name) ? (functions[name]?.(...all) ?? Number.NaN) : Number.NaN;
    results.set(label, { result: last });
  }
  return last;
}

/** `$var_1.result$` */
function resolved(value: Json, results: ReadonlyMap<string, json.JsonObject>): Json {
  const [, label = "", key = ""] = /^(\$\w+)\.(\w+)\$$/u.exec(String(value)) ?? [];
  const result = results.get(label);
  return json.isJsonObject(result ?? null) ? (result?.[key] ?? null) : value;
}

function isSame(value: number | undefined, gold: number): boolean {
  return value !== undefined && Math.abs(value - gold) <= TOLERANCE * Math.max(1, Math.abs(gold));
}

function product(factors: number): number {
  let all = 1;
  for (let factor = 2; factor <= factors && Number.isFinite(all); factor++) all *= factor;
  return all;
}

function divisor(a: number, b: number): number {
  return b === 0 ? Math.abs(a) : divisor(b, a % b);
}
