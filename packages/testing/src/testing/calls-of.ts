import type { LanguageModelV4Message } from "@ai-sdk/provider";
import { accounts } from "../../../../src/internal-tool.ts";
import type { ScriptedModel } from "./scripted-model.ts";

/** The prompt of one model call. Sizes are in characters, as in `savings`. */
export interface SentCall {
  /** The text of the system messages. */
  readonly instructions: string;
  /** All other messages, in order. */
  readonly messages: readonly SentMessage[];
  /** The names of the tools whose definitions were sent, in order. */
  readonly tools: readonly string[];
  /** The definitions, as one JSON array. */
  readonly toolChars: number;
  /** Instructions, messages and definitions. */
  readonly sentChars: number;
}

export interface SentMessage {
  readonly role: LanguageModelV4Message["role"];
  /**
   * Texts as they are, `name(input)` for a call of a tool, `name: result` for a result; JSON has no spaces.
   * A line for each part.
   */
  readonly text: string;
  readonly chars: number;
}

/** Returns what a scripted model was sent, call by call, in a form that a test can read and compare. */
export function callsOf(model: Pick<ScriptedModel, "calls">): readonly SentCall[] {
  return model.calls.map(({ prompt, tools = [] }) => {
    const sent = prompt.map((message) => ({
      role: message.role,
      text: textOf(message),
      chars: accounts.charsOfMessage(message),
    }));
    const toolChars = accounts.charsOfTools(tools);
    return {
      instructions: sent
        .filter(({ role }) => role === "system")
        .map(({ text }) => text)
        .join("\n\n"),
      messages: sent.filter(({ role }) => role !== "system"),
      tools: tools.map(({ name }) => name),
      toolChars,
      sentChars: sent.reduce((sum, { chars }) => sum + chars, toolChars),
    };
  });
}

type Part = Exclude<LanguageModelV4Message["content"], string>[number];

function textOf({ content }: LanguageModelV4Message): string {
  return typeof content === "string" ? content : content.map(lineOf).join("\n");
}

function lineOf(part: Part): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool-call":
      return `${part.toolName}(${JSON.stringify(part.input)})`;
    case "tool-result":
      return `${part.toolName}: ${resultText(part.output)}`;
    case "file":
      return `[${part.mediaType}]`;
    default:
      return `[${part.type}]`;
  }
}

function resultText(output: Extract<Part, { readonly type: "tool-result" }>["output"]): string {
  if (!("value" in output)) return `[${output.type}]`;
  return typeof output.value === "string" ? output.value : JSON.stringify(output.value);
}
