import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { cut, finish, modelOf, type Part, text, toolCall } from "./stream-parts.ts";

/** A call of a tool. An input that is a string is the raw text of the call, whether it is JSON or not. */
export interface ScriptedCall {
  readonly tool: string;
  readonly input: unknown;
  /** Default: unique in the script. */
  readonly id?: string;
  /** True for a tool that the call's request does not define. */
  readonly dynamic?: boolean;
}

/**
 * An item of a step: a text, a call of a tool, an error that breaks the stream, or parts of a stream from `text`,
 * `reasoning`, `toolCall` and `finish`.
 */
export type StepItem = string | ScriptedCall | Error | Part | readonly Part[];

/** The items of one call, in order. */
export type Script = readonly StepItem[];

type Items = Script | AsyncIterable<StepItem>;
type Fixed = string | ScriptedCall | Error | Script;

/**
 * What one call of the model does: a text, a call, or a list of them. An `Error` is a model that is down. A
 * function receives what was sent; a promise that it leaves open is a model that does not answer.
 *
 * A list with a text or a call in plain form needs no `finish`. One of stream parts only ends where it ends.
 */
export type Step =
  | Fixed
  | ((options: LanguageModelV4CallOptions) => Fixed | AsyncIterable<StepItem> | Promise<Fixed>);

export interface ScriptedModel extends LanguageModelV4 {
  /** The prompts of all calls. `callsOf` returns them in readable form. */
  readonly calls: readonly LanguageModelV4CallOptions[];
}

/**
 * Creates a model whose n-th call does the n-th step, whether it is streamed or generated. Each part is
 * streamed only when it is requested. A call for which there is no step fails. `deltaChars`: characters of each delta of
 * a plain text; 3 cuts references.
 */
export function scriptedModel(
  steps: readonly Step[],
  { deltaChars = 3 }: { readonly deltaChars?: number } = {},
): ScriptedModel {
  const calls: LanguageModelV4CallOptions[] = [];
  const next = async (options: LanguageModelV4CallOptions) => {
    const step = steps[calls.length];
    // A copy: what the caller does with the prompt afterwards does not change the record.
    const number = calls.push({ ...options, prompt: structuredClone(options.prompt) });
    if (step === undefined) throw new Error(`There is no step ${number}.`);
    const items = itemsOf(typeof step === "function" ? await step(options) : step);
    return partsOf(items, { number, deltaChars });
  };
  return { ...modelOf("scripted", "scripted", next), calls };
}

function itemsOf(step: Fixed | AsyncIterable<StepItem>): Items {
  if (step instanceof Error) throw step;
  if (typeof step === "string" || "tool" in step) return [step];
  return step;
}

interface StepPlace {
  readonly number: number;
  readonly deltaChars: number;
}

async function* partsOf(items: Items, place: StepPlace): AsyncGenerator<Part, void, undefined> {
  let plain = 0;
  let calls = 0;
  let isFinished = false;
  for await (const item of items) {
    if (item instanceof Error) throw item;
    if (isPlain(item)) {
      yield* plainParts(item, { ...place, index: plain++ });
      if (typeof item !== "string") calls++;
    } else {
      const parts = isList(item) ? item : [item];
      isFinished ||= parts.some(({ type }) => type === "finish");
      yield* parts;
    }
  }
  if (plain > 0 && !isFinished) yield* finish(calls > 0 ? "tool-calls" : "stop", ONE_TOKEN);
}

/** Limits of spend count tokens. Steps that are to have others end with a `finish` of their own. */
const ONE_TOKEN = { input: 1, output: 1 };

function plainParts(
  item: string | ScriptedCall,
  { number, deltaChars, index }: StepPlace & { readonly index: number },
): readonly Part[] {
  if (typeof item === "string") {
    return text(item, { id: `text_${index}`, chunks: cut(item, deltaChars) });
  }
  const { tool, input, id = `call_${number}_${index}`, dynamic } = item;
  const parts = toolCall(tool, input, { id });
  return dynamic === undefined ? parts : parts.map((part) => Object.assign(part, { dynamic }));
}

function isPlain(item: Exclude<StepItem, Error>): item is string | ScriptedCall {
  return typeof item === "string" || "tool" in item;
}

function isList(item: Part | readonly Part[]): item is readonly Part[] {
  return Array.isArray(item);
}
