import type { ModelMessage } from "ai";
import type { VariableInfo } from "../../store/variable.ts";
import { handlesIn, variableIn } from "../../tool/tool-output.ts";
import { isObject, type Json, jsonIn } from "../../value/json.ts";
import { charsOf } from "../../value/json-text.ts";

export interface ShownVariable {
  readonly name: string;
  readonly toolCallId: string | undefined;
  /** The output that names it. If the tool shows a text in its place: the name, and `value` undefined. */
  readonly output: Readonly<Record<string, unknown>>;
  readonly input: unknown;
}

/** Introduces the handle of what a person gave. */
export const KEPT_AS = "kept as a variable: ";

/** Finds the variables that the messages show, by name; of several mentions the last. Cost: linear. */
export function shownVariables(messages: readonly ModelMessage[]) {
  const shown = new Map<string, ShownVariable>();
  const inputs = new Map<string, unknown>();
  const add = (outputs: readonly Output[], toolCallId?: string) => {
    const input = toolCallId === undefined ? undefined : inputs.get(toolCallId);
    for (const output of outputs) {
      const name = variableIn(output);
      if (name !== undefined) shown.set(name, { name, toolCallId, output, input });
    }
  };
  for (const { role, content } of messages) {
    if (typeof content === "string") continue;
    for (const part of content) {
      if (part.type === "tool-call") inputs.set(part.toolCallId, part.input);
      else if (part.type === "tool-result") add(outputsIn(part.output), part.toolCallId);
      else if (part.type === "text" && role === "user") {
        // The handle of what a person gave.
        const at = part.text.indexOf(KEPT_AS);
        const given = at < 0 ? undefined : jsonIn(part.text.slice(at + KEPT_AS.length));
        if (isObject(given)) add([given]);
      }
    }
  }
  return shown;
}

type Output = Readonly<Record<string, unknown>>;

/** The outputs in a result: itself, or those of a tool with several. */
function outputsIn(result: { readonly type: string; readonly value?: unknown }): readonly Output[] {
  const { type, value } = result;
  if (type === "json") return handlesIn(value);
  const [first]: readonly unknown[] = type === "content" && Array.isArray(value) ? value : [];
  const text = type === "text" ? value : isObject(first) ? first.text : undefined;
  const [, name] = typeof text === "string" ? (LABEL.exec(text) ?? []) : [];
  return name === undefined ? [] : [{ $var: name, value: undefined }];
}

/** Begins the text with which a tool shows its own result in place of JSON. */
const LABEL = /^\$(\w+)(?:, untrusted)?:/u;

/**
 * True if the messages show this version of the variable, as far as its output can be compared. Of guarded
 * variables only the call is compared: their sizes must not reach a model.
 */
export function isCurrent(info: VariableInfo, shown: ShownVariable | undefined): boolean {
  if (shown === undefined || shown.toolCallId !== info.toolCallId) return false;
  const { value, path, type, count, version } = shown.output;
  if (path !== undefined) return false;
  if (info.visibility !== "model") return true;
  if (version !== undefined) return version === info.version;
  if (value !== undefined) return isAsLong(value, info);
  return type === undefined || (type === info.type && count === info.count);
}

/** True if the messages have the value, as a tool's result or as the model wrote it. */
export function isInFull(info: VariableInfo, shown: ShownVariable | undefined): boolean {
  if (shown === undefined || !isCurrent(info, shown)) return false;
  const { output, input } = shown;
  if (output.version === undefined) return "value" in output;
  return info.visibility === "model" && isObject(input) && isAsLong(input.value, info);
}

/** True if the output describes a value that is not in the messages. */
export function isHandle({ output }: ShownVariable): boolean {
  return !("value" in output) && output.version === undefined;
}

/** True if a value of a message has as many characters as the variable. */
function isAsLong(value: unknown, { chars }: VariableInfo): boolean {
  return value !== undefined && charsOf(value as Json, chars) === chars;
}
