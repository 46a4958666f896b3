import { getToolName, isToolUIPart } from "ai";
import { handlesIn, variableIn } from "../../tool/tool-output.ts";
import { compact, type Json } from "../../value/json.ts";
import type { StoredMessage } from "./stored-message.ts";
import { changedIn, type MessagePart, type ToolPart } from "./message-parts.ts";

/** A message in `$history`, as models wrote and read it: with references and handles in place of values. */
export type HistoryRecord = {
  /** Counts the questions, from 1. */
  readonly turn: number;
  /** ISO 8601. */
  readonly at: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  readonly tools: readonly RecordedCall[];
  /** Names of the variables that the message brought, or that its calls returned. */
  readonly variables: readonly string[];
};

/** A tool call. `output` is what the model read: a short value or a handle. */
export type RecordedCall = {
  readonly name: string;
  readonly input: Json;
  /** What ran in place of the input, because a person changed it. */
  readonly ran?: Json;
  readonly output?: Json;
  readonly error?: string;
};

export const RECORDS_SHAPE =
  "{turn: number, at: string, role: string, text: string, tools: {name: string, input: object}[], variables: string[]}[]";

/** Converts a message that belongs to the turn of this number. */
export function historyRecord(message: StoredMessage, turn: number): HistoryRecord {
  const { createdAt: at, role, parts } = message;
  const tools = parts.flatMap((part) => (isToolUIPart(part) ? [recordedCall(part)] : []));
  const given = parts.flatMap((part) => handleIn(part) ?? []).map((handle) => JSON.parse(handle));
  const outputs = [...given, ...tools.map(({ output }) => output)];
  const variables = outputs.flatMap(variablesIn);
  return { turn, at, role, text: textOf(parts), tools, variables: [...new Set(variables)] };
}

function textOf(parts: readonly MessagePart[]): string {
  const texts = parts.map((part) => (part.type === "text" ? part.text : (handleIn(part) ?? "")));
  return texts.filter((text) => text !== "").join("\n\n");
}

/** The handle of a person's file, which is a variable. */
function handleIn(part: MessagePart): string | undefined {
  const handle = part.type === "file" ? part.providerMetadata?.byref?.handle : undefined;
  return typeof handle === "string" ? handle : undefined;
}

function recordedCall(part: ToolPart): RecordedCall {
  const { input: ran } = changedIn(part) ?? {};
  const called = { name: getToolName(part), input: jsonOf(part.input), ...compact({ ran }) };
  switch (part.state) {
    case "output-available":
      return { ...called, output: jsonOf(part.output) };
    case "output-error":
      return { ...called, error: part.errorText };
    case "output-denied":
      return { ...called, error: "tool_denied" };
    default:
      return called;
  }
}

/** The history is stored as JSON, which has no undefined. */
function jsonOf(stored: unknown): Json {
  return (stored ?? null) as Json;
}

/** The variables that an output, or a part of it, is a handle of. */
export function variablesIn(output: unknown): readonly string[] {
  return handlesIn(output).flatMap((handle) => variableIn(handle) ?? []);
}
