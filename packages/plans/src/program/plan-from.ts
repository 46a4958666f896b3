import { ByrefError } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import type { Finding } from "../plan/plan-format.ts";
import { RESERVED_NAMES } from "../plan/plan-record.ts";
import { json, type Syntaxes, targets, type VariableStore } from "../../../../src/internal.ts";
import { type StoredMessage, changedIn, saveTargets } from "../../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import { type Json, parsePath } from "../../../../src/references.ts";
import {
  type Slice,
  sliceCalls,
  type SliceInput,
  type PastAnswer,
  type PastCall,
  type PastStep,
  type SavedPlace,
} from "./slice-calls.ts";

/** What a plan is made from: `$report`, or the id of an answer. */
export interface PlanSource {
  readonly from: string;
  readonly name?: string | undefined;
  /** True if the plan must not need the conversation: then all that it was given is an input. */
  readonly isAlone?: boolean;
}

type Messages = Iterable<{ readonly message: StoredMessage }>;

interface PastConversation {
  readonly messages: Messages;
  readonly store: VariableStore;
  readonly syntaxes: Syntaxes;
}

/** A JSON plan, what was replaced in it, and whether a model wrote any of it after it had seen untrusted content. */
interface PlanFrom {
  readonly text: string;
  readonly notes: readonly Finding[];
  readonly tainted: boolean;
}

/**
 * Makes a plan of the calls that led to a value or an answer. Calls no model, and runs nothing. Throws
 * `variable_not_found`, `not_found`, and `invalid_plan` if no call led to it.
 */
export async function planFrom(
  { from, name, isAlone = false }: PlanSource,
  { messages, store, syntaxes }: PastConversation,
): Promise<PlanFrom> {
  const isVariable = from.startsWith("$");
  const past = pastOf(messages, store, isVariable ? undefined : from);
  const source = isVariable ? targets.targetIn(from) : past.answer;
  if (source === undefined) throw new ByrefError("not_found", `There is no answer ${from}.`);
  if ("name" in source) targets.existing(store, source.name);
  const values = pastValues(past, store);
  const slice = sliceCalls(past.steps, source, {
    syntaxes,
    isKnown: (one) => store.glance(one) !== undefined || store.tombstone(one) !== undefined,
    staysVariable: (one, call) => !isAlone && values.staysVariable(one, call),
  });
  if (slice.calls.length === 0) {
    const message = `No call made ${from}: it was given, so there is nothing to run again.`;
    throw new ByrefError("invalid_plan", message, { findings: [{ code: "bad_plan", message }] });
  }
  const { schema, notes } = await inputSchemaOf(slice, values);
  const calls = slice.calls.map(({ id, tool, parameters, outputPath }) => ({
    _tool: tool,
    _id: id,
    ...parameters,
    ...json.compact({ _outputPath: outputPath }),
  }));
  const title = name ?? ("name" in source ? source.name : "answer");
  const isAnswerTainted = !("name" in source) && past.answer?.isTainted === true;
  return {
    text: JSON.stringify({ name: title, ...json.compact({ input: schema }), calls }),
    notes,
    tainted: isAnswerTainted || slice.past.some((id) => past.tainted.has(id)),
  };
}

async function inputSchemaOf(
  { inputs, variables }: Slice,
  { valueFor }: ReturnType<typeof pastValues>,
) {
  const notes: Finding[] = variables.map((name) => ({
    code: "kept_variable",
    message: `$${name} is too large, guarded or untrusted for an input: the plan reads the variable. Write other data to it before a run.`,
  }));
  if (inputs.length === 0) return { notes };
  const properties: [string, Json][] = [];
  for (const input of inputs) {
    const value = await valueFor(input);
    properties.push([input.key, { ...schemaOf(value), ...json.compact({ default: value }) }]);
    const message = noteOn(input, value !== undefined);
    if (message !== undefined)
      notes.push({ code: "became_input", at: `input.${input.key}`, message });
  }
  const required = properties.flatMap(([key, schema]) => ("default" in Object(schema) ? [] : key));
  const schema = {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required } : {}),
  };
  return { schema, notes };
}

/** Why a value is an input. Undefined for a value that was given, and is there. */
function noteOn({ key, name, why, typed }: SliceInput, hasDefault: boolean): string | undefined {
  const what = name === undefined ? `The figure ${JSON.stringify(typed)}` : `$${name}`;
  const cause =
    typed !== undefined
      ? "was typed by the model, and comes from no value"
      : why !== undefined
        ? `cannot be made again, because ${why}`
        : "is not kept any more, or is too large or guarded for a default";
  if (typed === undefined && why === undefined && hasDefault) return undefined;
  const means = hasDefault ? "its default is the value that it had" : "give it to each run";
  return `${what} ${cause}: it is input.${key}, and ${means}.`;
}

/** Values as they were, for the inputs of a plan. */
function pastValues({ steps }: ConversationPast, store: VariableStore) {
  const calls = idsIn(steps);
  /** True if this call wrote the value; without a call, if it was given. */
  const isOf = ({ toolCallId = "" }: VariableInfo, call: string | undefined) =>
    call === undefined ? !calls.has(toolCallId) : toolCallId === call;
  return {
    /** True if the value is there, and an input cannot hold it without losing its labels or its type. */
    staysVariable(name: string, call: string | undefined): boolean {
      const info = store.info(name);
      if (info === undefined || RESERVED_NAMES.includes(name)) return false;
      return isOf(info, call) && !isInputValue(info);
    },
    async valueFor({ name, call, typed }: SliceInput): Promise<Json | undefined> {
      if (typed !== undefined || name === undefined) return typed;
      const info = store.info(name);
      if (info !== undefined && isOf(info, call))
        return isInputValue(info) ? store.read(name) : undefined;
      for (let version = (info?.version ?? 0) - 1; version > 0; version--) {
        const earlier = store.earlier(name, version);
        if (earlier === undefined) break;
        if (isOf(earlier.info, call) && isInputValue(earlier.info)) return earlier.read();
      }
      return undefined;
    },
  };
}

/** A plan is stored with the defaults of its inputs, which everyone who sees it may see. */
function isInputValue({ visibility, trusted, flags = [], type, bytes }: VariableInfo): boolean {
  const isOpen = visibility === "model" && trusted && flags.length === 0;
  return isOpen && type !== "bytes" && bytes <= limits.maxPieceChars;
}

const MAX_SAMPLES = 100;

/** A JSON Schema that the value fits: its type, and the keys that all of its records have. */
function schemaOf(value: Json | undefined, depth = 0): json.JsonObject {
  if (value === undefined || value === null) return {};
  if (json.isJsonArray(value)) {
    const [first, ...others] = value.slice(0, MAX_SAMPLES).map((one) => schemaOf(one, depth + 1));
    const text = json.canonicalJson(first ?? null);
    const isSame = others.every((one) => json.canonicalJson(one) === text);
    const isAll = first !== undefined && isSame && value.length <= MAX_SAMPLES;
    return isAll ? { type: "array", items: first } : { type: "array" };
  }
  if (!json.isJsonObject(value)) return { type: json.typeOfJson(value) };
  const required = Object.keys(value);
  if (depth > 1 || required.length === 0) return { type: "object" };
  const properties = required.map((key) => [key, schemaOf(value[key], depth + 1)]);
  return { type: "object", properties: Object.fromEntries(properties), required };
}

/** What happened in a conversation, as far as its messages and variables tell. */
interface ConversationPast {
  readonly steps: readonly PastStep[];
  /** Calls that a model wrote after it had seen untrusted content. */
  readonly tainted: ReadonlySet<string>;
  /** The answer that was asked for. */
  readonly answer?: PastAnswer & { readonly isTainted: boolean };
}

/** Reads the calls of all messages, or of those up to an answer. Failed calls, and calls without a result, are left out. */
function pastOf(
  messages: Messages,
  store: Pick<VariableStore, "list">,
  answer?: string,
): ConversationPast {
  const steps: PastStep[] = [];
  const tainted = new Set<string>();
  const times: { readonly at: number; readonly createdAt: string }[] = [];
  let question = "";
  let found: ConversationPast["answer"];
  for (const { message } of messages) {
    times.push({ at: steps.length, createdAt: message.createdAt });
    if (message.role === "user") question = textsOf(message).join("\n");
    for (const part of message.parts) {
      if (!("toolCallId" in part) || part.state !== "output-available") continue;
      // The history consists of JSON.
      const { input = part.input as Json } = changedIn(part) ?? {};
      const output = part.output as Json;
      const tool = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
      const call = { id: part.toolCallId, tool, input };
      if (message.tainted === true) tainted.add(call.id);
      steps.push({
        ...call,
        saved: savedBy(call, output),
        ...json.compact({ unresolved: unresolvedIn(call, output) }),
      });
    }
    if (message.id !== answer || message.role !== "assistant") continue;
    const placed = new Set((message.receipt?.spans ?? []).map(({ source }) => source));
    found = { text: answerIn(message), placed, question, isTainted: message.tainted === true };
    break;
  }
  return {
    steps: withGiven(steps, times, store.list()),
    tainted,
    ...json.compact({ answer: found }),
  };
}

function textsOf({ parts }: StoredMessage): readonly string[] {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

/** What an answer says after its last call. */
function answerIn(message: StoredMessage): string {
  const last = message.parts.findLastIndex((part) => "toolCallId" in part);
  const after = textsOf({ ...message, parts: message.parts.slice(last + 1) });
  return (after.length === 0 ? textsOf(message) : after).join("\n\n");
}

/** The runtime's own tools that save variables. The other ones only show them. */
const SAVING = new Set(["set_variable", "edit_variable", "query_variables", "run_code"]);
const SHOWING =
  /^(?:list_variables|read_variable|search_variable|delete_variable|export_variable|propose_plan)$/;

function savedBy(
  { tool, input }: Pick<PastCall, "tool" | "input">,
  output: Json,
): readonly SavedPlace[] {
  if (SHOWING.test(tool) || !json.isJsonObject(output)) return [];
  const own = json.isJsonObject(input) ? input : {};
  if (tool === "run_code") {
    const { returned, vars } = output;
    const assigned = vars !== undefined && json.isJsonArray(vars) ? vars : [];
    return [
      ...placesOf(returned),
      ...assigned
        .flatMap((one) => placesOf(one))
        .map((place) => ({ ...place, isAssigned: true as const })),
    ];
  }
  const [place] = placesOf(output);
  if (place === undefined) return [];
  if (!SAVING.has(tool)) {
    const all = placesIn(own["_outputPath"]);
    return all.length > 1 ? all : [place];
  }
  const named = tool === "set_variable" ? own["name"] : (own["saveAs"] ?? own["name"]);
  if (tool === "query_variables" || typeof named !== "string") return [place];
  return [{ ...place, path: targets.targetIn(named).path }];
}

function placesOf(output: Json | undefined): readonly SavedPlace[] {
  if (output === undefined || !json.isJsonObject(output)) return [];
  const { $var: name, path } = output;
  if (typeof name !== "string") return [];
  return [{ name, path: (typeof path === "string" ? parsePath(path) : undefined) ?? [] }];
}

/** Outputs list so many at most. */
const MAX_UNRESOLVED = 5;

/** Undefined if the output does not list all of them. */
function unresolvedIn(
  { tool }: Pick<PastCall, "tool">,
  output: Json,
): readonly string[] | undefined {
  const listsNone = SHOWING.test(tool) || (SAVING.has(tool) && tool !== "set_variable");
  if (listsNone || !json.isJsonObject(output) || "visibility" in output) return undefined;
  const { unresolved = [] } = output;
  if (!json.isJsonArray(unresolved) || unresolved.length >= MAX_UNRESOLVED) return undefined;
  return unresolved.map((one) => String(json.isJsonObject(one) ? one["reference"] : ""));
}

/** The places of `$a && $b`, of which the output names the first. */
function placesIn(written: Json | undefined): readonly SavedPlace[] {
  if (typeof written !== "string" || !written.includes("&&")) return [];
  return saveTargets.saveTargetIn(written).places.map(({ name, path }) => ({ name, path }));
}

function idsIn(steps: readonly PastStep[]): ReadonlySet<string> {
  return new Set(steps.flatMap((step) => ("id" in step ? step.id : [])));
}

/** Adds the writes of others to variables that calls write too, before the first message that came after them. */
function withGiven(
  calls: readonly PastStep[],
  times: readonly { readonly at: number; readonly createdAt: string }[],
  infos: readonly VariableInfo[],
): readonly PastStep[] {
  const ids = idsIn(calls);
  const written = new Set(
    calls.flatMap((step) => ("saved" in step ? step.saved.map(({ name }) => name) : [])),
  );
  const given = infos.flatMap(({ name, toolCallId = "", updatedAt }) => {
    if (!written.has(name) || ids.has(toolCallId)) return [];
    const { at = calls.length } = times.find(({ createdAt }) => createdAt > updatedAt) ?? {};
    return { at, step: { given: name } };
  });
  const all = [...given, ...calls.map((step, at) => ({ at, step }))];
  return all.toSorted((one, other) => one.at - other.at).map(({ step }) => step);
}
