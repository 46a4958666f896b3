import type { ModelMessage, ToolResultPart } from "ai";
import { isObject } from "../value/json.ts";
import type { WrapOptions } from "../tool/wrapped-tool.ts";

/** Follows the name of an untrusted variable whose value a tool's own `toModelOutput` shows. */
export const UNTRUSTED_NOTE = ", untrusted";
const NOTED = new RegExp(`^\\$\\w+${UNTRUSTED_NOTE}:`, "u");

/**
 * True if the messages show the model an untrusted result. The history may outlive this process, so the
 * taint is found in it.
 */
export function showsUntrusted(
  messages: readonly ModelMessage[],
  options: Pick<WrapOptions, "policies" | "untrusted">,
): boolean {
  return messages.some(
    ({ role, content }) =>
      (role === "tool" || role === "assistant") &&
      typeof content !== "string" &&
      content.some((part) => part.type === "tool-result" && isUntrusted(part, options)),
  );
}

function isUntrusted(
  { toolName, output }: ToolResultPart,
  { policies = {}, untrusted }: Pick<WrapOptions, "policies" | "untrusted">,
): boolean {
  if (output.type === "json" && isObject(output.value)) {
    const { untrusted: isMarked, visibility } = output.value;
    if (isMarked === true) return true;
    // A guarded handle shows no value.
    if (typeof visibility === "string") return false;
  }
  const [first] = output.type === "content" ? output.value : [];
  const text = output.type === "text" ? output.value : first?.type === "text" ? first.text : "";
  if (NOTED.test(text)) return true;
  const policy = Object.hasOwn(policies, toolName) ? policies[toolName] : undefined;
  return untrusted !== "hide" && policy?.trusted === false;
}
