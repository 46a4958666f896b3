import {
  convertToModelMessages,
  isToolUIPart,
  type ModelMessage,
  type ToolSet,
  type UIMessage,
} from "ai";
import { limits } from "../limits.ts";
import type { VariableInfo, VariableStore } from "../store/variable-store.ts";
import { clip } from "../value/json.ts";
import type { Agent } from "./agent.ts";
import { type StoredMessage, toUIMessage } from "./history.ts";

const MAX_LISTED_SHAPE_CHARS = 100;

/** How the model is told to work by reference. It never changes: providers cache a prompt's start. */
const GUIDE = `Results of tools are kept as variables. You see {"$var": name, …}: a small value whole, a large one only by shape and preview.
To hand a result on, write a reference as the tool's argument, whatever its type: "$name", "$name.field", "$name[0].id", "$name[-1]", "$name[*].id", "$name[0:10]", "$name['any key']". The tool receives the real value.
To show a result to the person, write the reference in your answer; it is replaced by the value. An array or object alone on its line becomes a table or a JSON block. \\$name prints a reference as it is.
Never copy or retype values that a reference can stand for.`;

/** Opens the part of a prompt that lists the variables. */
export const VARIABLES_TAG = "<variables>";

/**
 * The instructions of every model call of an agent. One whose references are not written with a dollar
 * has to say in its own instructions how they are.
 */
export function instructionsFor({ instructions, references }: Agent): string {
  const syntaxes = references?.syntaxes ?? ["dollar"];
  return syntaxes.includes("dollar") ? `${instructions}\n\n${GUIDE}` : instructions;
}

/** Stored messages as the model is given them: references stay references. */
export function toModelMessages(
  messages: readonly StoredMessage[],
  tools: ToolSet,
): Promise<ModelMessage[]> {
  const uiMessages = messages.map((message) => withObjectInputs(toUIMessage(message, "reference")));
  return convertToModelMessages(uiMessages, { tools, ignoreIncompleteToolCalls: true });
}

/** Input that was broken JSON is kept as text; providers take objects only, as the SDK's loop knows. */
function withObjectInputs(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) =>
    isToolUIPart(part) && part.state === "output-error" && typeof part.input === "string"
      ? { ...part, input: {} }
      : part,
  );
  return { ...message, parts };
}

/**
 * The messages with the list of variables behind them: last, because it changes with every step and what
 * stands in front of it should stay the same for the provider's cache.
 */
export function withVariables(
  messages: readonly ModelMessage[],
  store: VariableStore,
): ModelMessage[] {
  const list = variableList(store);
  return list === "" ? [...messages] : [...messages, { role: "user", content: list }];
}

function variableList(store: VariableStore): string {
  const total = store.count();
  if (total === 0) return "";
  const shown = store.list({ last: limits.maxListedVariables });
  const more = total - shown.length;
  const lines = [
    VARIABLES_TAG,
    ...(more > 0 ? [`(${more} older variables are not listed)`] : []),
    ...shown.map(variableLine),
    "</variables>",
  ];
  return lines.join("\n");
}

function variableLine({ name, type, count, shape, description, visibility }: VariableInfo): string {
  if (visibility === "secret") return `$${name}: secret`;
  const size = type === "array" || type === "object" || type === "string" ? ` (${count})` : "";
  if (visibility === "sealed") return `$${name}: ${type}${size} sealed`;
  const about = description === undefined ? "" : ` // ${description}`;
  return `$${name}: ${type}${size} ${clip(shape, MAX_LISTED_SHAPE_CHARS)}${about}`;
}
