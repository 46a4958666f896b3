import type {
  JSONObject,
  JSONValue,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import { KEPT_AS, VARIABLES_TAG } from "../../../../src/internal-tool.ts";
import { json, shapeOf } from "../../../../src/internal.ts";
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
  /** Elements of an array, keys of an object. */
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

export type DemoCall = { readonly toolName: string; readonly input: JSONObject };

export type DemoStep =
  | { readonly kind: "calls"; readonly calls: readonly DemoCall[] }
  | { readonly kind: "text"; readonly text: string }
  /** Says why it does nothing, and what it can do. */
  | { readonly kind: "refusal"; readonly why: string };

export type DemoTools = NonNullable<LanguageModelV4CallOptions["tools"]>;

export interface DemoPrompt {
  readonly conversation: Conversation;
  readonly tools: DemoTools;
}

/** Phrases of an application, for a demonstration that rules about names and schemas do not cover. */
export interface DemoScript {
  /** Questions to try, by the name of the tool. */
  readonly examples?: Readonly<Record<string, string>>;
  /** Returns the next step. Undefined for a question that is not in the script. */
  step(prompt: DemoPrompt): DemoStep | undefined;
}

type Message = LanguageModelV4Prompt[number];

const MAX_QUOTED_CHARS = 300;
/** Ends what the runtime says before the handle of a file, or of a paste. */
const GIVEN =
  /(?:^A file was given, |^What was pasted with it was |^This message is long and was )$/mu;
/** A line of the list of variables: `$orders: array (3) {id: number}[] // description`. */
const LISTED =
  /^[^\w\s]*(?<name>[A-Za-z_]\w*)\S*: (?<type>\w+)(?: \((?<count>\d+)\))?(?: (?<shape>.*))?$/u;

/** Reads everything that the demo model uses from the prompt, because the model has no state between calls. */
export function readConversation(prompt: LanguageModelV4Prompt): Conversation {
  const list = listIn(prompt);
  const at = prompt.findLastIndex((message) => message.role === "user" && message !== list);
  const outputs = new Map(resultsIn(prompt).map((part) => [part.toolCallId, part.output]));
  const outcomesIn = (messages: LanguageModelV4Prompt): readonly Outcome[] =>
    callsIn(messages).map(({ toolName, input, toolCallId }) => {
      return { toolName, input, result: resultOf(outputs.get(toolCallId)) };
    });
  const texts = textsIn(prompt[at]).filter((text) => fileIn(text) === undefined);
  return {
    question: texts.join("\n"),
    variables: variablesIn(prompt, list),
    thisTurn: outcomesIn(prompt.slice(at + 1)),
    earlier: outcomesIn(prompt.slice(0, Math.max(at, 0))).toReversed(),
    // A shortened history may start with call_7: counting the calls would produce its id again.
    nextCallNumber: callsIn(prompt).reduce((next, { toolCallId }, index) => {
      const own = Number(/^call_(\d{1,15})$/u.exec(toolCallId)?.[1] ?? 0);
      return Math.max(next, index + 2, own + 1);
    }, 1),
  };
}

/** Returns the list of variables at the end of a prompt, which is from the runtime, not from the person. */
function listIn(prompt: LanguageModelV4Prompt): Message | undefined {
  const [before, last] = prompt.slice(-2);
  // A question follows an answer.
  if (last === undefined || before?.role === "assistant") return undefined;
  return textsIn(last)[0]?.startsWith(VARIABLES_TAG) === true ? last : undefined;
}

function textsIn(message: Message | undefined): readonly string[] {
  if (message?.role !== "user") return [];
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

const partsIn = (messages: LanguageModelV4Prompt) =>
  messages.flatMap(({ role, content }) =>
    role === "system" || role === "user" ? [] : [...content],
  );
const callsIn = (messages: LanguageModelV4Prompt) =>
  partsIn(messages).filter((part) => part.type === "tool-call");
const resultsIn = (messages: LanguageModelV4Prompt) =>
  partsIn(messages).filter((part) => part.type === "tool-result");

function variablesIn(prompt: LanguageModelV4Prompt, list: Message | undefined) {
  const all = new Map<string, Variable>();
  const inputs = new Map(callsIn(prompt).map(({ toolCallId, input }) => [toolCallId, input]));
  for (const message of prompt) {
    for (const text of message === list ? [] : textsIn(message)) {
      const file = fileIn(text);
      if (file !== undefined) all.set(file.name, file);
    }
    for (const { output, toolCallId } of resultsIn([message])) {
      const result = resultOf(output);
      if (result.kind !== "variable") continue;
      // A shorter form of a handle that the prompt has already.
      const isRepeated = result.shape === "" && result.value === undefined;
      const shown = (isRepeated ? all.get(result.name) : undefined) ?? result;
      all.set(result.name, { ...shown, input: inputs.get(toolCallId) });
    }
  }
  for (const line of textsIn(list).join("\n").split("\n")) {
    const { name, type = "", count, shape: typed = "" } = LISTED.exec(line)?.groups ?? {};
    if (name === undefined) continue;
    const [shape = ""] = typed.split(" // ");
    const known = { kind: "variable", name, type, shape, value: undefined } as const;
    if (type === "removed") all.delete(name);
    else all.set(name, { ...known, count: count === undefined ? undefined : Number(count) });
  }
  return all;
}

function fileIn(text: string): Variable | undefined {
  const at = text.lastIndexOf(KEPT_AS);
  return at < 0 || !GIVEN.test(text.slice(0, at))
    ? undefined
    : variableIn(json.jsonIn(text.slice(at + KEPT_AS.length)) as JSONValue);
}

function resultOf(output: LanguageModelV4ToolResultOutput | undefined): Variable | Failure {
  if (output?.type === "json") {
    const { value } = output;
    const { error, message } = isObject(value) ? value : {};
    const isProblem = error != null || message != null;
    // A value without a name cannot be referenced, and a good model copies no values.
    const said = isProblem ? messageIn(value) : `${NOT_KEPT}: ${excerpt(value)}`;
    return variableIn(value) ?? { ...failure(said), value };
  }
  if (output === undefined) return failure("it has not answered yet");
  if (output.type === "content") return failure(NOT_KEPT);
  if (output.type === "execution-denied") return failure(output.reason ?? "the call was denied");
  return failure(messageIn(output.value));
}

function variableIn(shown: JSONValue | undefined): Variable | undefined {
  if (!isObject(shown) || typeof shown["$var"] !== "string") return undefined;
  const { $var: name, value, count, shape, type } = shown;
  const own = value === undefined ? "" : shapeOf(value as Json);
  return {
    kind: "variable",
    name,
    value,
    count: typeof count === "number" ? count : Array.isArray(value) ? value.length : undefined,
    shape: typeof shape === "string" ? shape : own,
    type: Array.isArray(value) ? "array" : typeof type === "string" ? type : typeof value,
  };
}

const failure = (message: string): Failure => ({ kind: "failure", message });

const NOT_KEPT = "its result was not kept as a variable";

function messageIn(error: JSONValue): string {
  if (typeof error === "string") return error;
  const { message, error: inner } = isObject(error) ? error : {};
  if (typeof message === "string") return message;
  return inner == null ? excerpt(error) : messageIn(inner);
}

function excerpt(value: JSONValue): string {
  const text = JSON.stringify(value);
  return text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS)}…` : text;
}

/** The outcome of this call, if it was made since the question. */
export function outcomeOfCall({ toolName, input }: DemoCall, outcomes: readonly Outcome[]) {
  const wanted = JSON.stringify(input);
  return outcomes.find((one) => one.toolName === toolName && JSON.stringify(one.input) === wanted);
}

export function isObject(value: unknown): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function say(text: string): DemoStep {
  return { kind: "text", text };
}

export function refuse(why: string): DemoStep {
  return { kind: "refusal", why };
}

/** A text without references and links: what it quotes is data. */
export function inert(text: string): string {
  return text.replaceAll(/[$†`]|\{\{|\[\^|\]\(/gu, " ");
}
