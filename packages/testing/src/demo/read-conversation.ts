import type {
  JSONObject,
  JSONValue,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import { KEPT_AS, VARIABLES_TAG } from "../../../../src/internal-tool.ts";
import { shapeOf } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";

/** The outcome of a tool call in the prompt. */
export type Outcome = {
  readonly toolName: string;
  readonly input: unknown;
  readonly result: Variable | Failure;
};

/** A saved result: its name, and what the prompt shows of it. */
export type Variable = {
  readonly kind: "variable";
  readonly name: string;
  /** The value itself, if it was small enough to be shown. */
  readonly value: JSONValue | undefined;
  /** `array`, `object` and so on. Empty if the prompt does not say it. */
  readonly type: string;
  /** Elements of an array, keys of an object. Undefined if the prompt does not include a count. */
  readonly count: number | undefined;
  /** The type in one line, e.g. `{id: string}[]`, which may be cut. Empty if the prompt does not have it. */
  readonly shape: string;
  /** The input of the call that made it, if the prompt has it. */
  readonly input?: unknown;
};

type Failure = {
  readonly kind: "failure";
  readonly message: string;
  /** The tool's output, if it has no name. Some tools return such outputs on purpose. */
  readonly value?: JSONValue;
};

export type Conversation = {
  /** The text of the newest user message. Empty if there is none. */
  readonly question: string;
  /** Outcomes since the question, oldest first. */
  readonly thisTurn: readonly Outcome[];
  /** Outcomes before the question, newest first. */
  readonly earlier: readonly Outcome[];
  /** The variables that the prompt shows, by name, oldest first. */
  readonly variables: ReadonlyMap<string, Variable>;
  /** Greater than the number in any `call_<number>` of the prompt, and greater than the count of calls. */
  readonly nextCallNumber: number;
};

type Message = LanguageModelV4Prompt[number];

const maxQuotedChars = 300;

/** Reads everything that the demo model uses from the prompt, because the model has no state between calls. */
export function readConversation(prompt: LanguageModelV4Prompt): Conversation {
  const list = listIn(prompt);
  const questionIndex = prompt.findLastIndex(
    (message) => message.role === "user" && message !== list,
  );
  const outputs = outputsByCall(prompt);
  const outcomesIn = (messages: LanguageModelV4Prompt) =>
    callsIn(messages).map(({ toolName, input, toolCallId }) => {
      return { toolName, input, result: resultOf(outputs.get(toolCallId)) };
    });
  return {
    question: questionIn(prompt[questionIndex]),
    variables: variablesIn(prompt),
    thisTurn: outcomesIn(prompt.slice(questionIndex + 1)),
    earlier: outcomesIn(prompt.slice(0, Math.max(questionIndex, 0))).toReversed(),
    nextCallNumber: 1 + callsIn(prompt).reduce(highestNumber, 0),
  };
}

/** Returns the list of variables at the end of a prompt, which is from the runtime, not from the person. */
function listIn(prompt: LanguageModelV4Prompt): Message | undefined {
  const [before, last] = prompt.slice(-2);
  // A question follows an answer.
  if (last === undefined || before?.role === "assistant") return undefined;
  return textsIn(last)[0]?.startsWith(VARIABLES_TAG) === true ? last : undefined;
}

/** Returns the user's text, without the handles of files. */
function questionIn(message: Message | undefined): string {
  const texts = message === undefined ? [] : textsIn(message);
  return texts.filter((text) => fileIn(text) === undefined).join("\n");
}

function textsIn(message: Message): readonly string[] {
  if (message.role !== "user") return [];
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

function variablesIn(prompt: LanguageModelV4Prompt): ReadonlyMap<string, Variable> {
  const all = new Map<string, Variable>();
  const list = listIn(prompt);
  const inputs = new Map(callsIn(prompt).map(({ toolCallId, input }) => [toolCallId, input]));
  for (const message of prompt) {
    if (message.role === "user") {
      for (const text of textsIn(message)) {
        if (message === list) readList(text, all);
        const file = fileIn(text);
        if (file !== undefined) all.set(file.name, file);
      }
    }
    if (message.role !== "tool" && message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result") continue;
      const result = resultOf(part.output);
      if (result.kind !== "variable") continue;
      // A shorter form of a handle that the prompt has already.
      const known = all.get(result.name);
      const isRepeated = result.shape === "" && result.value === undefined;
      const shown = isRepeated && known !== undefined ? known : result;
      all.set(result.name, { ...shown, input: inputs.get(part.toolCallId) });
    }
  }
  return all;
}

function fileIn(text: string): Variable | undefined {
  const at = text.startsWith(FILE) ? text.indexOf(KEPT_AS) : -1;
  if (at < 0 || !text.endsWith("}")) return undefined;
  try {
    return variableIn(JSON.parse(text.slice(at + KEPT_AS.length)) as JSONValue);
  } catch {
    return undefined;
  }
}

/** Reads the list of variables: `$orders: array (3) {id: number}[] // description`. */
function readList(text: string, all: Map<string, Variable>): void {
  for (const line of text.split("\n")) {
    const { name, type, count, shape = "" } = LISTED.exec(line)?.groups ?? {};
    if (name === undefined || type === undefined) continue;
    if (type === "removed") all.delete(name);
    else {
      const [own = ""] = shape.split(" // ");
      const size = count === undefined ? undefined : Number(count);
      all.set(name, { kind: "variable", name, type, count: size, shape: own, value: undefined });
    }
  }
}

/** Begins the text in a file's place. */
const FILE = "A file was given, ";
const LISTED =
  /^[^\w\s]*(?<name>[A-Za-z_]\w*)\S*: (?<type>\w+)(?: \((?<count>\d+)\))?(?: (?<shape>.*))?$/u;

function callsIn(messages: LanguageModelV4Prompt): readonly LanguageModelV4ToolCallPart[] {
  return messages.flatMap((message) =>
    message.role === "assistant" ? message.content.filter((part) => part.type === "tool-call") : [],
  );
}

function outputsByCall(
  prompt: LanguageModelV4Prompt,
): ReadonlyMap<string, LanguageModelV4ToolResultOutput> {
  const outputs = new Map<string, LanguageModelV4ToolResultOutput>();
  for (const message of prompt) {
    if (message.role !== "tool" && message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type === "tool-result") outputs.set(part.toolCallId, part.output);
    }
  }
  return outputs;
}

// A shortened history may start with call_7: counting the calls would produce its id again.
function highestNumber(highest: number, call: LanguageModelV4ToolCallPart, index: number): number {
  const suffix = call.toolCallId.startsWith("call_") ? Number(call.toolCallId.slice(5)) : 0;
  return Math.max(highest, index + 1, Number.isSafeInteger(suffix) ? suffix : 0);
}

function resultOf(output: LanguageModelV4ToolResultOutput | undefined): Variable | Failure {
  if (output === undefined) return failure("it has not answered yet");
  switch (output.type) {
    case "json":
      return (
        variableIn(output.value) ?? {
          ...failure(unsavedMessage(output.value)),
          value: output.value,
        }
      );
    case "error-json":
      return failure(messageIn(output.value));
    case "execution-denied":
      return failure(output.reason ?? "the call was denied");
    case "content":
      return failure("its result was not kept as a variable");
    default:
      return failure(output.value);
  }
}

function variableIn(shown: JSONValue): Variable | undefined {
  if (!isObject(shown) || typeof shown["$var"] !== "string") return undefined;
  const { value, count, shape, type } = shown;
  return {
    kind: "variable",
    name: shown["$var"],
    value,
    count: typeof count === "number" ? count : Array.isArray(value) ? value.length : undefined,
    shape: shapeIn(shape, value),
    type: Array.isArray(value) ? "array" : typeof type === "string" ? type : typeof value,
  };
}

function shapeIn(shape: JSONValue | undefined, value: JSONValue | undefined): string {
  if (typeof shape === "string") return shape;
  return value === undefined ? "" : shapeOf(value as Json);
}

function failure(message: string): Failure {
  return { kind: "failure", message };
}

// A value without a name cannot be referenced, and a good model copies no values.
function unsavedMessage(value: JSONValue): string {
  const isProblem = isObject(value) && (value["error"] != null || value["message"] != null);
  return isProblem ? messageIn(value) : `its result was not kept as a variable: ${excerpt(value)}`;
}

function messageIn(error: JSONValue): string {
  if (typeof error === "string") return error;
  if (isObject(error)) {
    if (typeof error["message"] === "string") return error["message"];
    if (error["error"] != null) return messageIn(error["error"]);
  }
  return excerpt(error);
}

function excerpt(value: JSONValue): string {
  const text = JSON.stringify(value);
  return text.length > maxQuotedChars ? `${text.slice(0, maxQuotedChars)}…` : text;
}

/** The outcome of this call, if it was made since the question. */
export function outcomeOfCall(
  { toolName, input }: { readonly toolName: string; readonly input: JSONObject },
  outcomes: readonly Outcome[],
): Outcome | undefined {
  const wanted = JSON.stringify(input);
  return outcomes.find(
    (outcome) => outcome.toolName === toolName && JSON.stringify(outcome.input) === wanted,
  );
}

export function isObject(value: unknown): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
