import * as limits from "../limits.ts";
import type { Json } from "../value/json.ts";
import { jsonChars } from "../value/json-text.ts";
import type * as z from "zod";
import type { Lookup } from "../reference/lookup.ts";
import type { Unresolved } from "../reference/expand.ts";
import type { Reference, Syntax } from "../reference/reference.ts";
import type { Variables } from "../store/variable-store.ts";
import type { VariableStore } from "../store/variables.ts";
import type { Labels } from "../store/labels.ts";

import type { CallOptions, Effects, Saved, Stage } from "./wrapped-tool.ts";

/**
 * The stages of a conversation's prompt, which only go forward. `start`: all values are in the messages, in
 * full. `variable`: the first that is not. `text`: the first text of over `maxShownResultChars`, or value
 * that a model wrote, more variables than the prompt lists, or compaction.
 */
export const promptStages = ["start", "variable", "text"] as const;

export type PromptStage = (typeof promptStages)[number];

/** True if `stage` is `other`, or comes after it. */
export function isFrom(stage: PromptStage, other: PromptStage): boolean {
  return promptStages.indexOf(stage) >= promptStages.indexOf(other);
}

/**
 * A built-in tool, such as `read_variable`. It works on the variables themselves. Its result is shown to the
 * model and is not saved as a variable.
 */
export interface RuntimeTool<Schema extends z.ZodType = z.ZodType> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  /** Effects of running `execute` again; changes in its result are written once. Default: `none`. */
  readonly effects?: Effects;
  /** The parameters that name variables which the tool writes. Default: none. */
  readonly writes?: readonly string[];
  /** Returns the texts in an input that name variables which the tool reads, beside those of `name`. Default: none. */
  reads?(input: Readonly<Record<string, Json>>, syntaxes: readonly Syntax[]): readonly string[];
  /** Parameters that work, but are too rarely needed to be sent with each call. Default: none. */
  readonly unlisted?: readonly string[];
  /** Default: `variable`. A tool that is not offered yet works all the same when it is called. */
  readonly offeredFrom?: PromptStage;
  /** True if the model may choose with `_outputPath` where the result is saved. Default: false. */
  readonly takesOutputPath?: boolean;
  /** Time limit of one call in milliseconds. Default: the limit of any tool. */
  readonly timeMs?: number;
  /** Runs the tool on the input as the model wrote it, with references unresolved. Throws ByrefErrors. */
  execute(
    input: z.infer<Schema>,
    context: RuntimeToolContext,
  ): RuntimeResult | Promise<RuntimeResult>;
  /** Returns the content for the model if it differs from the output, which the history keeps. */
  toModelOutput?(output: Json, store: Variables): Promise<ModelOutput> | undefined;
}

/** A tool's output as the AI SDK sends it to a model: JSON, or content parts. */
export type ModelOutput =
  | { readonly type: "json"; readonly value: Json }
  | { readonly type: "content"; readonly value: readonly ContentPart[] };

type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly data: { readonly type: "data"; readonly data: string };
    };

export interface RuntimeToolContext {
  readonly store: Variables;
  /** The values of who asks, where the agent may use them. */
  readonly user: VariableStore["user"];
  /** Labels of all values that were resolved so far. */
  readonly labels: Labels;
  readonly call: CallOptions;
  /** True if untrusted values are described no further than sealed ones. */
  readonly hidesUntrusted: boolean;
  /** Returns the place that a reference reads: a user's value is loaded. Throws if there is none. */
  locate(reference: Reference): Promise<Reference>;
  /** Returns the variables that a reference reads: in a run, the conversation's for state that it inherits. */
  storeOf(reference: Reference): Variables;
  /** Looks a reference up in them, and notes its labels. */
  readonly lookup: Lookup;
  /** Resolves the references in a part of the input. Throws the errors of `resolveReferences`. */
  resolve(value: Json): Promise<{ value: Json; unresolved: readonly Unresolved[] }>;
}

export interface RuntimeResult {
  /** The output for the model; a function if the tool changes something, which its commit does. */
  readonly output: Json | Stage<Json>;
  /** True if some of the output comes from an untrusted source. */
  readonly untrusted?: boolean;
  /** The value to save at the call's place for its result. Default: the output. */
  readonly value?: Json;
  /** True if there is no value to save; the output contains the reason. */
  readonly isNothing?: boolean;
  /** Set if the result is itself a variable: saves it at the call's place and returns the output. */
  readonly save?: Stage<Saved>;
}

/** Checks a tool's types, then removes them so that tools of different types fit into one list. */
export function runtimeTool<Schema extends z.ZodType>(tool: RuntimeTool<Schema>): RuntimeTool {
  // The pipeline parses the input with the tool's own schema before it calls `execute`.
  return tool as unknown as RuntimeTool;
}

/**
 * Greater than the number of elements or characters of any value. A maximum makes the JSON Schema shorter.
 */
export const MAX_COUNT = 1e8;

/** True if the output has at most `limits.maxVariableOutputChars` as JSON. */
export function fits(output: Json): boolean {
  return jsonChars(output, limits.maxVariableOutputChars) <= limits.maxVariableOutputChars;
}

/** Returns the longest start of the text that takes at most `chars` characters inside of a JSON string. */
export function startWithin(text: string, chars: number): string {
  let end = 0;
  let used = 0;
  for (const character of text) {
    used += JSON.stringify(character).length - 2;
    if (used > chars) return text.slice(0, end);
    end += character.length;
  }
  return text;
}
