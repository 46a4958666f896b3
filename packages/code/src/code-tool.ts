import * as z from "zod";
import { ByrefError, codeOf, messageOf, requireAtMost } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import { CodeRun, parseResult, readInputs } from "./code-run.ts";
import type { Sandbox, SandboxError, SandboxRun } from "./sandbox.ts";
import type { Json } from "../../../src/references.ts";
import {
  toolInputs,
  toolOutputs,
  toolCalls,
  runtimeTools,
  type toolboxes,
} from "../../../src/internal-tool.ts";
import {
  characters,
  json,
  targets,
  toJson,
  variableNames,
  type stores,
} from "../../../src/internal.ts";
import type { ToolOutput } from "../../../src/runtime.ts";

export interface CodeToolOptions extends toolboxes.CodeOptions {
  readonly sandbox: Sandbox;
}

const NAME = "run_code";

/** Time for reading variables and saving results, in addition to the time of the run. */
const SAVING_MS = 5_000;

const DESCRIPTION =
  "Run JavaScript with variables; return or vars.x = … saves, await tools.x({…}) calls.";

const inputSchema = z.object({
  code: z.string().min(1).max(limits.maxPieceChars),
  variables: z.array(z.string()).max(limits.maxBatchItems).default([]),
});

type Input = z.infer<typeof inputSchema>;

/** `run_code`: runs the model's JavaScript on variables in a sandbox. */
export function codeTool(options: CodeToolOptions): runtimeTools.RuntimeTool {
  const { sandbox, tools, onCall, timeMs = limits.toolMs } = options;
  return runtimeTools.runtimeTool({
    name: NAME,
    description: DESCRIPTION,
    inputSchema,
    offeredFrom: "start",
    // The sandbox's time limit ends first: its error says what the code printed.
    timeMs: timeMs + SAVING_MS,
    async execute(input, context) {
      const variables = new Map(input.variables.map(namedTarget));
      for (const { name } of variables.values()) context.labels.add(name);
      const run = new CodeRun({ sandbox, tools: tools(), onCall, context, timeMs }, [
        ...variables.keys(),
      ]);
      const inputs = await readInputs(context, variables);
      const result = { ...(await run.run(input.code, inputs)), sources: run.sources };
      if (context.call.signal.aborted) throw new ByrefError("tool_failed", `${NAME} was stopped.`);
      const finished = { input, result, context };
      // Console, errors and names may reveal guarded or hidden values.
      const { labels, hidesUntrusted } = context;
      const isWithheld = labels.isGuarded || (hidesUntrusted && !labels.ofResult(NAME).trusted);
      return isWithheld ? withheldResult(finished) : openResult(finished);
    },
  });
}

/** A plan may name a part, as `†state.orders`: code has it under its last key. */
function namedTarget(written: string): readonly [string, targets.Target] {
  if (!written.startsWith("†")) {
    const name = withoutDollar(written);
    return [name, { name, path: [] }];
  }
  const target = targets.targetIn(written);
  const key = target.path.findLast((segment) => "key" in segment)?.key;
  return [key ?? target.name, target];
}

/** Models sometimes write a name as a reference. */
const withoutDollar = (name: string) => name.replace(/^\$/, "");

interface FinishedRun {
  readonly input: Input;
  readonly result: SandboxRun & Pick<CodeRun, "sources">;
  readonly context: runtimeTools.RuntimeToolContext;
}

async function openResult(finished: FinishedRun): Promise<runtimeTools.RuntimeResult> {
  const { result, context } = finished;
  const { call } = context;
  const untrusted = !context.labels.ofResult(NAME).trusted;
  const shown = characters.clip(result.console, limits.maxExcerptChars);
  const left = result.console.length - shown.length;
  const consoleText = left === 0 ? shown : `${shown}… (+${left} more)`;
  try {
    if (result.error !== undefined) throw errorFrom(result.error, consoleText, partsHint(finished));
    const writes = await writesFor(finished);
    return { ...resultOf(finished, writes, consoleText), untrusted };
  } catch (error) {
    const isResult = call.scope === undefined && call.saveTo === undefined;
    // An output is marked as untrusted, but an error is not, and its text may come from an untrusted value.
    if (!untrusted || !isResult) throw error;
    return { output: { error: `${codeOf(error)}: ${messageOf(error)}` }, untrusted };
  }
}

/** How code uses the large variables of the run. The description, which is in every prompt, leaves it out. */
function partsHint({ input, context: { store } }: FinishedRun): string {
  const large = input.variables
    .map(withoutDollar)
    .filter((name) => (store.glance(name)?.bytes ?? 0) > limits.maxWholeCodeBytes);
  if (large.length === 0) return "";
  const mebibytes = limits.maxWholeCodeBytes / 2 ** 20;
  return `\nOver ${mebibytes} MiB, a variable is {type, count, bytes, read(path), slice(from, to)}, as ${large.join(", ")}: await ${large[0]}.slice(0, 1000).`;
}

/** Returns a result in which the model sees no text or name that the code chose. */
async function withheldResult(finished: FinishedRun): Promise<runtimeTools.RuntimeResult> {
  const { error, assigned } = finished.result;
  if (error !== undefined) throw withheld(error.kind);
  if (assigned.length > 0)
    throw new ByrefError(
      "tool_failed",
      `${NAME} failed: on sealed input, it only returns a value.`,
    );
  const writes = await writesFor(finished).catch(() => {
    throw withheld("thrown");
  });
  return resultOf(finished, writes, "");
}

/**
 * Saves the returned value only at the call's own place, if the call has one; of code that returns nothing, an object
 * of what it has assigned.
 */
function resultOf(
  { context: { store, call, hidesUntrusted } }: FinishedRun,
  { returned, vars }: Writes,
  console: string,
): runtimeTools.RuntimeResult {
  if (call.saveTo !== undefined && returned === undefined && vars.length > 0) {
    const assigned = Object.fromEntries(vars.map(({ name, value }) => [name, value]));
    return { output: null, value: assigned };
  }
  const isNamed = call.saveTo === undefined && returned !== undefined;
  const writes = isNamed ? { returned, vars } : { vars };
  const output = () => toolCalls.stageAll(saveOf(store, writes, { console, hidesUntrusted }));
  return returned === undefined ? { output, isNothing: true } : { output, value: returned.value };
}

function withheld(kind: SandboxError["kind"]): ByrefError {
  const message = `${NAME} failed; details are withheld, because its input is sealed.`;
  return new ByrefError(kind === "timeout" ? "tool_timeout" : "tool_failed", message);
}

function errorFrom(
  { kind, message, line }: SandboxError,
  consoleText: string,
  hint = "",
): ByrefError {
  const where = line === undefined ? "" : `Line ${line}: `;
  const what = `${where}${characters.clip(message, limits.maxShownResultChars)}${hint}`;
  return new ByrefError(
    kind === "timeout" ? "tool_timeout" : "tool_failed",
    consoleText === "" ? what : `${what}\nconsole:\n${consoleText}`,
    line === undefined ? {} : { line },
  );
}

/** Prepares the writes. Throws if a value cannot be saved. */
async function writesFor(finished: FinishedRun): Promise<Writes> {
  const {
    result: { returned, assigned, sources },
    context: { store, labels },
  } = finished;
  const chars = assigned.reduce((sum, [, text]) => sum + text.length, (returned ?? "").length);
  requireAtMost("maxJsonBytes", chars, "Return less, or assign parts of it in several runs.");
  const advice = "Assign fewer names to vars; one of them may be an object of many values.";
  requireAtMost("maxListedVariables", assigned.length, advice);
  for (const [variable] of assigned) requireOutputName(store, variable);
  const values = assigned.map(([, text]) => valueFrom(text));
  const result = returned === undefined ? undefined : valueFrom(returned);
  const made = [...values, ...(result === undefined ? [] : [result])].map(({ value }) => value);
  if (await sources.hasUnknownUrl(made)) labels.compose();
  const written = json.compact(finished.input);
  const { toolCallId } = finished.context.call;
  const common = { tool: NAME, toolCallId, input: written, ...labels.ofResult(NAME) };
  const inputDigest = await toolInputs.digestOf(written);
  const name = { base: NAME, numbered: true, inputDigest };
  const vars = assigned.map(([variable], index) => ({
    ...common,
    value: null,
    ...values[index],
    name: variable,
    // It is not all that the call makes.
    madeOf: { ...common.madeOf, [variable]: 0 },
  }));
  return result === undefined ? { vars } : { returned: { ...common, ...result, name }, vars };
}

type JsonWrite = stores.Write & { readonly value: Json };

interface Writes {
  readonly returned?: JsonWrite;
  readonly vars: readonly (JsonWrite & { readonly name: string })[];
}

/** Parses a value from the sandbox and checks its depth and size. Throws `bad_value` if it is not JSON. */
function valueFrom(text: string): { readonly value: Json } {
  try {
    return { value: toJson(parseResult(text)).value };
  } catch (error) {
    if (codeOf(error) !== "internal") throw error;
    throw new ByrefError("bad_value", "The result is not JSON.");
  }
}

function requireOutputName(store: stores.Variables, name: string): void {
  variableNames.requireName(name);
  if (name === "input") throw new ByrefError("bad_name", "input cannot be written.");
  if (store.glance(name)?.visibility !== "secret") return;
  throw new ByrefError("variable_secret", `${name} is secret: it cannot be written.`);
}

/** Saves all of the writes or none of them. */
function saveOf(
  store: stores.Variables,
  { returned, vars }: Writes,
  shown: { readonly console: string; readonly hidesUntrusted: boolean },
): toolCalls.StagedWrites<Json> {
  const writes = returned === undefined ? vars : [returned, ...vars];
  const nothing = "The code returned nothing and assigned nothing to vars.";
  const outputOf = (outputs: readonly ToolOutput[]): Json => {
    const list = outputs.map(toolOutputs.outputJson);
    const first = returned === undefined ? undefined : list.shift();
    return json.compact({
      note: writes.length === 0 ? nothing : undefined,
      returned: first,
      vars: list.length === 0 ? undefined : list,
      console: shown.console === "" ? undefined : shown.console,
    });
  };
  return {
    store,
    writes,
    // A variable may have become secret since the run began.
    check: () => {
      for (const { name } of vars) requireOutputName(store, name);
    },
    onSaved: (infos) =>
      outputOf(infos.map((info, at) => toolOutputs.toolOutput(info, writes[at]?.value, shown))),
    onRefused: (error) => {
      if (codeOf(error) !== "limit_exceeded") throw error;
      const why = messageOf(error);
      const refused = () =>
        writes.map((write) => toolOutputs.notKept(write, why, shown.hidesUntrusted));
      return { result: () => outputOf(refused()) };
    },
  };
}
