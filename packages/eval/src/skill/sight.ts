import type { Json } from "../../../../src/value/json.ts";
import { isObject } from "../../../../src/value/json.ts";
import { type ChatMessage, type ChatRequest, textOf } from "./chat-request.ts";

/** A call in the prompt, with its result as the model sees it. */
export interface SeenCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, Json>>;
  /** Absent while the call has no result. */
  readonly output?: Json;
  /** True if the result is an error, or notes references that were not resolved. */
  readonly isWrong: boolean;
  /** The turn of the call. */
  readonly turn: number;
}

/** The parts of a prompt that a scripted model reads. */
export interface Sight {
  /** The user's last message. */
  readonly question: string;
  readonly turn: number;
  readonly calls: readonly SeenCall[];
  readonly tools: ReadonlySet<string>;
}

/** Reads a prompt as a model that sees this many characters. The middle of a longer prompt is removed. */
export function sightOf({ messages, tools = [] }: ChatRequest, seesChars: number): Sight {
  const texts = withoutMiddle(messages.map(textOf), seesChars);
  const results = new Map(
    messages.flatMap(({ role, tool_call_id: id = "" }, index) =>
      role === "tool" ? [[id, texts[index] ?? ""] as const] : [],
    ),
  );
  const calls: SeenCall[] = [];
  let question = "";
  let turn = 0;
  for (const [index, message] of messages.entries()) {
    const text = texts[index] ?? "";
    if (message.role === "user" && !text.startsWith("<variables>")) {
      question = text;
      turn++;
    }
    calls.push(...callsIn(message, results, turn));
  }
  return { question, turn, calls, tools: new Set(tools.map((one) => one.function.name)) };
}

function callsIn(
  { tool_calls: calls = [] }: ChatMessage,
  results: ReadonlyMap<string, string>,
  turn: number,
): readonly SeenCall[] {
  return calls.map((call) => {
    const text = results.get(call.id);
    const input = parsed(call.function.arguments);
    const output = text === undefined ? undefined : parsed(text);
    return {
      tool: call.function.name,
      input: isObject(input) ? (input as SeenCall["input"]) : {},
      ...(output === undefined ? {} : { output }),
      isWrong: output !== undefined && isWrong(output, Object.values(isObject(input) ? input : {})),
      turn,
    };
  });
}

/** Reads JSON if the text is JSON. */
export function parsed(text: string): Json {
  if (!/^\s*[[{]/u.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The AI SDK shows an error with the name of its class. */
const ERROR = /^(?:\w*Error: |[a-z]+(?:_[a-z]+)+: )/u;

/** A note is about a mistake only if the reference was a whole argument: in other texts it is a text. */
function isWrong(output: Json, written: readonly unknown[]): boolean {
  if (typeof output === "string") return ERROR.test(output);
  const notes = isObject(output) && Array.isArray(output.unresolved) ? output.unresolved : [];
  return notes.some((note: unknown) => isObject(note) && written.includes(note.reference));
}

/** Models attend to the start and to the end of a long prompt. */
function withoutMiddle(texts: readonly string[], seesChars: number): readonly string[] {
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  if (total <= seesChars) return texts;
  const [from, to] = [seesChars / 2, total - seesChars / 2];
  let at = 0;
  return texts.map((text) => {
    const start = at;
    at += text.length;
    const head = text.slice(0, Math.max(0, from - start));
    const tail = text.slice(Math.max(head.length, to - start));
    return head.length === text.length ? text : head + tail;
  });
}
