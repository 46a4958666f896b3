import { getToolName, isToolUIPart } from "ai";
import { figuresBeyond, figuresIn } from "../../value/figures.ts";
import { compact } from "../../value/json.ts";
import { changedIn, type StoredSpan, textsOf } from "./message-parts.ts";
import type { StoredMessage } from "./stored-message.ts";

/** A place in a text part of the message as the person saw it. Positions are in UTF-16 code units. */
interface Place extends Pick<StoredSpan, "start" | "end"> {
  /** Index among the message's parts. */
  readonly part: number;
}

/** A value in an answer, and where it came from when the answer was written. */
export interface ReceiptSpan extends Place, Omit<StoredSpan, "text" | "source"> {
  readonly reference: string;
}

export interface TypedFigure extends Place {
  readonly text: string;
}

/** Sources of an answer's values, and numbers that came from no value. */
export interface AnswerReceipt {
  readonly message: string;
  readonly spans: readonly ReceiptSpan[];
  /** Numbers of at least two digits, except those of list items, of names and of the question. */
  readonly typedFigures: readonly TypedFigure[];
  /** False if the answer has more than `maxItems` values. Both lists then end at the last span. */
  readonly complete: boolean;
  /** Calls that ran with another input than the model wrote. Absent if there are none. */
  readonly changes?: readonly InputChange[];
}

/** The inputs of a call: the model's, the person's, and the person's with values, as text, shortened. */
interface InputChange {
  readonly call: string;
  readonly tool: string;
  readonly proposed: unknown;
  readonly approved: unknown;
  readonly effective: string;
}

/** Describes an answer. `question`: the message that it answers. */
export function answerReceipt(message: StoredMessage, question?: StoredMessage): AnswerReceipt {
  const { spans = [], isCut } = message.receipt ?? {};
  const last = isCut === true ? spans.at(-1) : undefined;
  const places = message.parts.flatMap(({ type }, part) => (type === "text" ? [part] : []));
  const shown = message.display ?? textsOf(message.parts);
  const asked = question === undefined ? "" : textsOf(question.parts).join("\n");
  const typed = places.flatMap((part, text) => {
    if (last !== undefined && text > last.text) return [];
    const covered = spans.filter((span) => span.text === text);
    const whole = shown[text] ?? "";
    const known = last?.text === text ? whole.slice(0, last.end) : whole;
    return figuresIn(known, covered).map((figure) => ({ part, ...figure }));
  });
  const changes = message.parts.filter(isToolUIPart).flatMap((part): readonly InputChange[] => {
    const { input: approved, resolved: effective } = changedIn(part) ?? {};
    if (effective === undefined || part.approval?.approved !== true) return [];
    const { toolCallId: call, input: proposed } = part;
    return [{ call, tool: getToolName(part), proposed, approved, effective }];
  });
  return {
    message: message.id,
    spans: spans.map(({ text, source, ...span }) => {
      return { part: places[text] ?? 0, reference: source, ...compact(span) };
    }),
    typedFigures: figuresBeyond(typed, asked),
    complete: isCut !== true,
    ...(changes.length > 0 && { changes }),
  };
}
