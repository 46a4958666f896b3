import * as limits from "../limits.ts";
import type { Json } from "../value/json.ts";
import type * as z from "zod";
import type { Unresolved } from "../reference/expand.ts";
import type { Variables } from "../store/variable-store.ts";
import type { Labels } from "../store/labels.ts";
import type { Prepare } from "./prepared-save.ts";
import type { CallOptions, Effects, Saved } from "./wrapped-tool.ts";

/**
 * A tool of the runtime's own, such as `read_variable`: it works on the variables themselves, and its
 * result is no variable but what the model is shown.
 */
export interface RuntimeTool<Schema extends z.ZodType = z.ZodType> {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
  /** Of `execute`; what its result changes is written once. Default: `none`. */
  readonly effects?: Effects;
  /** The model may say with `_outputPath` where the result is saved. Default: false. */
  readonly takesOutputPath?: boolean;
  /** Time limit of one call in milliseconds. Default: as any tool. */
  readonly timeMs?: number;
  /** The input is what the model wrote: references in it are not resolved. Throws ByrefErrors. */
  execute(
    input: z.infer<Schema>,
    context: RuntimeToolContext,
  ): RuntimeResult | Promise<RuntimeResult>;
  /** What the model is shown in place of the output, which is what is kept; undefined: the output. */
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
  /** Labels of all that was resolved so far. */
  readonly labels: Labels;
  readonly call: CallOptions;
  /** What is not trusted is described no further than a sealed value. */
  readonly hidesUntrusted: boolean;
  /** Puts values in place of the references in a part of the input. Throws as `resolveReferences` does. */
  resolve(value: Json): Promise<{ value: Json; unresolved: readonly Unresolved[] }>;
}

export interface RuntimeResult {
  /** What the model is shown; a function if the tool changes something: the commit does. */
  readonly output: Json | Prepare<Json>;
  /** Somebody who is not trusted has written some of what is shown. */
  readonly untrusted?: boolean;
  /** What is saved where the call says that its result goes. Default: the output. */
  readonly value?: Json;
  /** The value reports why there is no result. */
  readonly isFailure?: boolean;
  /** Nothing is: the output says why there is none. */
  readonly isNothing?: boolean;
  /** Of a result that is a variable: saves it where the call says, and gives what is shown. */
  readonly save?: Prepare<Saved>;
}

/** One with its types; they are checked here and forgotten in a list. */
export function runtimeTool<Schema extends z.ZodType>(tool: RuntimeTool<Schema>): RuntimeTool {
  // The input is parsed with the tool's own schema before it is handed over.
  return tool as unknown as RuntimeTool;
}

/** More than any value has elements or characters; a bound of its own makes a schema shorter. */
export const MAX_COUNT = 1e8;

/** As JSON, in UTF-16 units. */
export function charsOf(output: Json): number {
  return JSON.stringify(output).length;
}

/** At most `limits.maxVariableOutputChars` as JSON? */
export function fits(output: Json): boolean {
  return charsOf(output) <= limits.maxVariableOutputChars;
}

/** The longest start of the text that takes at most `chars` characters inside of a JSON string. */
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
