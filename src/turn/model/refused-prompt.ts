import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { clip, inOneLine } from "../../value/characters.ts";
import { isNote, textOf } from "./acceptable-prompt.ts";

type Message = LanguageModelV4Message;

/** The start of the texts and names in an outline. */
const MAX_OUTLINE_CHARS = 480;
const MAX_QUESTION_CHARS = 60;

/** The earlier turn that a provider refuses. */
export interface RefusedTurn {
  /** Counted from 0, in the messages of the prompt. */
  readonly turn: number;
  /** The start of its question. */
  readonly question: string;
}

/**
 * Returns the earlier turn with the message that a provider's error names, as in `messages.3: …`. If it names none: the
 * oldest turn with more than texts. Undefined if there is none, or if the message belongs to the newest turn.
 */
export function refusedTurn(
  prompt: LanguageModelV4Prompt,
  errorText: string,
): RefusedTurn | undefined {
  const starts = turnStarts(prompt);
  const place = namedMessage(prompt, errorText);
  const isOf = (turn: number) => {
    const [from = 0, to = prompt.length] = starts.slice(turn, turn + 2);
    if (place !== undefined) return from <= place && place < to;
    return prompt.slice(from, to).some((message) => !isText(message));
  };
  const turn = starts.findIndex((_, at) => isOf(at));
  const start = prompt[starts[turn] ?? -1];
  if (start?.role !== "user" || turn === starts.length - 1) return undefined;
  return { turn, question: clip(inOneLine(textOf(start)), MAX_QUESTION_CHARS) };
}

/** Replaces the messages of a turn with the start of the question, the names of the calls and the start of the answer. */
export function withOutline(prompt: LanguageModelV4Prompt, turn: number): LanguageModelV4Prompt {
  const [from, to = prompt.length] = turnStarts(prompt).slice(turn, turn + 2);
  if (from === undefined) return prompt;
  const [start, ...rest] = prompt.slice(from, to);
  const question = start?.role === "user" ? textOf(start) : "";
  const said = rest.flatMap((message) => (message.role === "assistant" ? message.content : []));
  const calls = said.flatMap((part) => (part.type === "tool-call" ? part.toolName : []));
  const answer = said.flatMap((part) => (part.type === "text" ? part.text : [])).join(" ");
  const outline = [
    ...(calls.length === 0 ? [] : [`Calls: ${calls.join(", ")}.`]),
    ...(answer.trim() === "" ? [] : [answer]),
  ].join(" ");
  return [
    ...prompt.slice(0, from),
    textMessage("user", question),
    ...(rest.length === 0 ? [] : [textMessage("assistant", outline)]),
    ...prompt.slice(to),
  ];
}

function textMessage(role: "user" | "assistant", said: string): Message {
  const text = clip(inOneLine(said).trim(), MAX_OUTLINE_CHARS);
  return { role, content: [{ type: "text", text: text === "" ? "(no text)" : text }] };
}

/** The positions of the questions. */
function turnStarts(prompt: LanguageModelV4Prompt): readonly number[] {
  return prompt.flatMap((message, at) => (message.role === "user" && !isNote(message) ? at : []));
}

function isText({ role, content }: Message): boolean {
  return role === "system" || content.every((part) => part.type === "text");
}

/** The position of the message that an error names. Undefined if it names none. */
function namedMessage(prompt: LanguageModelV4Prompt, errorText: string): number | undefined {
  const [, list, mark, index] = /\b(messages|input|contents)(\.|\[)(\d+)/u.exec(errorText) ?? [];
  if (index === undefined) return undefined;
  const form = `${list}${mark}`;
  let count = 0;
  const place = prompt.findIndex((message) => {
    count += itemsIn(message, form);
    return count > Number(index);
  });
  return place < 0 ? undefined : place;
}

/** How many items a message is in the list that an error names. */
function itemsIn({ role, content }: Message, form: string): number {
  const isOpenai = form === "messages[" || form === "input[";
  if (role === "system") return isOpenai ? 1 : 0;
  const isList = (role === "tool" && isOpenai) || (role === "assistant" && form === "input[");
  return isList ? content.length : 1;
}
