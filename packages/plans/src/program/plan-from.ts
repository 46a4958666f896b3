import type { JSONSchema7 } from "ai";
import { ByrefError } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import type { Finding } from "../plan/findings.ts";
import { RESERVED_NAMES } from "../plan/run-names.ts";
import { json, type Syntaxes, targets, type VariableStore } from "../../../../src/internal.ts";
import type { StoredMessage } from "../../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import type { Json } from "../../../../src/references.ts";
import { type ConversationPast, pastOf, shownValue } from "./past-of.ts";
import { type Slice, sliceCalls, type SliceInput } from "./slice-calls.ts";

/** What a plan is made from: `$report`, or the id of an answer. */
export interface PlanSource {
  readonly from: string;
  readonly name?: string | undefined;
  /** True if the plan must not need the conversation: then all that it was given is an input. */
  readonly isAlone?: boolean;
}

interface PastConversation {
  readonly messages: Iterable<StoredMessage>;
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
  const values = new PastValues(past, store);
  const slice = sliceCalls(past.steps, source, {
    syntaxes,
    isKnown: (one) => store.glance(one) !== undefined || store.tombstone(one) !== undefined,
    staysVariable: (one, call) => !isAlone && values.staysVariable(one, call),
  });
  if (slice.calls.length === 0) {
    const message = `No call made ${from}: it was given, so there is nothing to run again.`;
    throw new ByrefError("invalid_plan", message, { findings: [{ code: "bad_plan", message }] });
  }
  if (slice.findings.length > 0) {
    const [first] = slice.findings;
    throw new ByrefError("invalid_plan", first?.message ?? "", { findings: slice.findings });
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

async function inputSchemaOf({ inputs, variables }: Slice, values: PastValues) {
  const notes: Finding[] = variables.map((name) => ({
    code: "kept_variable",
    message: `$${name} is too large, guarded or untrusted for an input: the plan reads the variable. Write other data to it before a run.`,
  }));
  const properties: Record<string, JSONSchema7> = {};
  const required: string[] = [];
  for (const input of inputs) {
    const value = await values.valueFor(input);
    // JSON Schema is JSON.
    const schema = { ...schemaOf(value), ...json.compact({ default: value }) } as JSONSchema7;
    properties[input.key] = schema;
    if (value === undefined) required.push(input.key);
    const message = noteOn(input, value !== undefined);
    if (message !== undefined)
      notes.push({ code: "became_input", at: `input.${input.key}`, message });
  }
  if (inputs.length === 0) return { notes };
  const schema = { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
  return { schema, notes };
}

/** Why a value is an input. Undefined for a value that was given, and is there. */
function noteOn({ key, name, why, typed }: SliceInput, hasDefault: boolean): string | undefined {
  const means = hasDefault ? "its default is the value that it had" : "give it to each run";
  if (typed !== undefined) {
    const what = name === undefined ? `The figure ${JSON.stringify(typed)}` : `$${name}`;
    return `${what} was typed by the model, and comes from no value: it is input.${key}, and ${means}.`;
  }
  if (why !== undefined)
    return `$${name} cannot be made again, because ${why}: it is input.${key}; ${means}.`;
  if (hasDefault) return undefined;
  return `The value that $${name} had is not kept any more, or is too large or guarded for a default: it is input.${key}; ${means}.`;
}

/** Values as they were, for the inputs of a plan. */
class PastValues {
  readonly #past: ConversationPast;
  readonly #store: VariableStore;
  readonly #calls: ReadonlySet<string>;

  constructor(past: ConversationPast, store: VariableStore) {
    this.#past = past;
    this.#store = store;
    this.#calls = new Set(past.outputs.keys());
  }

  /** True if the value is there, and an input cannot hold it without losing its labels or its type. */
  staysVariable(name: string, call: string | undefined): boolean {
    const info = this.#store.info(name);
    if (info === undefined || RESERVED_NAMES.includes(name)) return false;
    return this.#isOf(info, call) && !isInputValue(info);
  }

  async valueFor({ name, call, typed }: SliceInput): Promise<Json | undefined> {
    if (typed !== undefined || name === undefined) return typed;
    const info = this.#store.info(name);
    if (info !== undefined && this.#isOf(info, call)) {
      return isInputValue(info) ? this.#store.read(name) : undefined;
    }
    for (let version = (info?.version ?? 0) - 1; version > 0; version--) {
      const earlier = this.#store.earlier(name, version);
      if (earlier === undefined) break;
      if (this.#isOf(earlier.info, call) && isInputValue(earlier.info)) return earlier.read();
    }
    return call === undefined ? undefined : shownValue(this.#past.outputs.get(call), name);
  }

  /** True if this call wrote the value; without a call, if it was given. */
  #isOf({ toolCallId = "" }: VariableInfo, call: string | undefined): boolean {
    return call === undefined ? !this.#calls.has(toolCallId) : toolCallId === call;
  }
}

/** A plan is stored with the defaults of its inputs, which everyone who sees it may see. */
function isInputValue({ visibility, trusted, flags = [], type, bytes }: VariableInfo): boolean {
  const isOpen = visibility === "model" && trusted && flags.length === 0;
  return isOpen && type !== "bytes" && bytes <= limits.maxPieceChars;
}

const MAX_SAMPLES = 100;

/** A schema that the value fits: its type, and the keys that all of its records have. */
function schemaOf(value: Json | undefined, depth = 0): JSONSchema7 {
  if (value === undefined || value === null) return {};
  if (json.isJsonArray(value)) {
    const items = value.slice(0, MAX_SAMPLES).map((one) => schemaOf(one, depth + 1));
    const [first] = items;
    const isSame = items.every(
      (one) => json.canonicalJson(asJson(one)) === json.canonicalJson(asJson(first)),
    );
    return first !== undefined && isSame && items.length === value.length
      ? { type: "array", items: first }
      : { type: "array" };
  }
  if (!json.isJsonObject(value)) return { type: json.typeOfJson(value) as "string" };
  const entries = Object.entries(value);
  if (depth > 1 || entries.length === 0) return { type: "object" };
  const properties = entries.map(([key, inner]) => [key, schemaOf(inner, depth + 1)]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: entries.map(([key]) => key),
  };
}

/** JSON Schema is JSON. */
function asJson(schema: JSONSchema7 | undefined): Json {
  return (schema ?? null) as Json;
}
