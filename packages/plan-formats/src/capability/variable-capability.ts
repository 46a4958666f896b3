import * as limits from "../../../../src/limits.ts";
import * as z from "zod";
import { ByrefError } from "../../../../src/errors.ts";
import { interpolate, type Json } from "../../../../src/references.ts";
import {
  ownTools,
  toolOutputs,
  keptInput,
  settingOf,
  toolCalls,
  runtimeTools,
} from "../../../../src/internal-tool.ts";
import { targets, variableNames, referenceProblems } from "../../../../src/internal.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import { RESERVED_NAMES } from "../../../plans/src/plan/plan-record.ts";

/** Leaves room for the other fields of the output. */
const MAX_SHOWN_CHARS = limits.maxVariableOutputChars - 100;

const key = z.string();

const set = runtimeTools.runtimeTool({
  name: "variable_set",
  offeredFrom: "start",
  description: "Save a value under a key.",
  inputSchema: z
    .object({ key, value: z.unknown().optional(), content: z.string().optional() })
    .refine(({ value, content }) => (value === undefined) !== (content === undefined), {
      message: "give either value or content",
    }),
  writes: ["key"],
  async execute(input, context) {
    const name = writable(input.key);
    // Inputs of calls are JSON.
    const given = (input.value ?? input.content ?? null) as Json;
    const write = {
      name,
      value: given,
      tool: "variable_set",
      ...keptInput(input),
    };
    const { save, value } = await settingOf(write, context);
    return { output: save, value };
  },
});

const get = runtimeTools.runtimeTool({
  name: "variable_get",
  offeredFrom: "start",
  description: "Read what is saved under a key.",
  inputSchema: z.object({ key }),
  async execute({ key }, { storeOf, lookup, call }) {
    const target = targetOf(key);
    if (target === undefined) return notFound(key);
    const store = storeOf(target);
    const info = store.info(target.name);
    if (info === undefined) return notFound(key);
    // A copy has the same guard as its value, which may come from values that the model must not see.
    if (call.saveTo === undefined) targets.readable(store, info.name);
    else targets.usable(store, info.name);
    const answer = await lookup(target);
    if (!answer.found && answer.reason !== "unreadable") return notFound(key);
    if (!answer.found) throw referenceProblems.problemFrom(targets.referenceTo(target), answer);
    const { value } = answer;
    return { output: shownValue(value, target, info), value, untrusted: !info.trusted };
  },
});

const list = runtimeTools.runtimeTool({
  name: "variable_list",
  offeredFrom: "start",
  description: "List the keys, oldest first.",
  inputSchema: z.object({}),
  execute: (_, context) => {
    const names = inScope(context).map(({ name }) => name);
    return { output: shownNames(names), value: names };
  },
});

const fill = runtimeTools.runtimeTool({
  name: "variable_interpolate",
  offeredFrom: "start",
  description: "Put values in place of {{key}} in a text.",
  inputSchema: z.object({ content: z.string() }),
  async execute({ content }, { lookup, labels, call }) {
    const { text } = await interpolate(content, lookup, { onComposed: () => labels.compose() });
    if (call.saveTo !== undefined || !labels.isGuarded) {
      return { output: shownText(text), value: text, untrusted: labels.hasUntrusted };
    }
    const message = "A sealed value is in the text: give output_var, it is not shown.";
    throw new ByrefError("variable_sealed", message);
  },
});

const clear = runtimeTools.runtimeTool({
  name: "variable_clear",
  offeredFrom: "start",
  description: "Delete what is saved under a key.",
  inputSchema: z.object({ key }),
  writes: ["key"],
  execute({ key }, context) {
    const { store, call } = context;
    const info = store.info(key);
    const isOwn =
      call.scope === undefined || info?.scope === "run" || call.scope.nameOf(key) !== key;
    return info !== undefined && isOwn
      ? ownTools.deleteVariable.execute({ name: writable(key) }, context)
      : notFound(key);
  },
});

const clearAll = runtimeTools.runtimeTool({
  name: "variable_clear_all",
  offeredFrom: "start",
  description: "Delete all keys.",
  inputSchema: z.object({}),
  execute: (_, context) => ({
    output: async () =>
      toolCalls.change(() => {
        const cleared = inScope(context).filter(
          ({ pinned, visibility }) => !pinned && visibility !== "secret",
        );
        for (const { name } of cleared) context.store.delete(name);
        return { deleted: cleared.length };
      }),
  }),
});

/**
 * The capability `variable`, with one tool for each action. In a run, a key is a variable of the run if the
 * run has it, else of the conversation.
 */
export const variableCapability: readonly runtimeTools.RuntimeTool[] = [
  set,
  get,
  list,
  fill,
  clear,
  clearAll,
];

/** A missing key is not an error. */
function notFound(key: string): runtimeTools.RuntimeResult {
  return { output: `Variable not found: ${key}` };
}

/** Throws `bad_name` for a key that cannot be written. */
function writable(key: string): string {
  if (!RESERVED_NAMES.includes(key)) return variableNames.requireName(key);
  throw new ByrefError("bad_name", `"${key}" cannot be written; choose another key.`);
}

/** Undefined for a key that cannot be a variable's name, and so does not exist. */
function targetOf(key: string): targets.Target | undefined {
  try {
    return targets.targetIn(key);
  } catch {
    return undefined;
  }
}

/** In a run: its own variables. Outside of runs: variables that belong to no run. In order of creation. */
function inScope({
  store,
  call: { scope },
}: runtimeTools.RuntimeToolContext): readonly VariableInfo[] {
  const isIn = ({ name, scope: lifetime }: VariableInfo) =>
    scope === undefined ? lifetime === "conversation" : scope.nameOf(name) !== name;
  return (
    store
      .list()
      .filter((info) => isIn(info) && !RESERVED_NAMES.includes(info.name))
      // Variables of the same millisecond keep the order of their last write.
      .sort((one, other) => Date.parse(one.createdAt) - Date.parse(other.createdAt))
  );
}

/** The value, or a summary if the value is too large for a prompt. */
function shownValue(value: Json, { path }: targets.Target, info: VariableInfo): Json {
  if (runtimeTools.fits(value)) return value;
  const about = path.length === 0 ? info : toolOutputs.partInfo(info, value);
  return toolOutputs.outputJson(toolOutputs.toolOutput(about, value, { path }));
}

function shownNames(names: readonly string[]): Json {
  let count = names.length;
  while (!runtimeTools.fits(names.slice(0, count))) count = Math.floor(count * 0.9);
  const more = names.length - count;
  return more === 0 ? names : [...names.slice(0, count), `… (+${more} more)`];
}

function shownText(text: string): string {
  const shown = runtimeTools.startWithin(text, MAX_SHOWN_CHARS);
  return shown === text ? text : `${shown}… (+${text.length - shown.length} more)`;
}
