import type { UIMessage } from "ai";
import type { Savings } from "../../../src/turn/spend/account.ts";
import type { TurnMetadata } from "../../../src/turn/turn.ts";
import { metadataOf, textsOf } from "../chat/tool-part.ts";
import { figure } from "../words.ts";

/** Cost of a turn, or of several, with and without references. */
export interface Cost extends Required<Savings> {
  readonly tokens: PromptTokens;
  readonly rowsWritten: number | undefined;
}

export interface TurnCost extends Cost {
  readonly id: string;
  readonly question: string;
}

/** The size of prompts in tokens. */
export interface PromptTokens {
  readonly sent: number;
  /** False for an estimate, if the provider reports nothing. */
  readonly isReported: boolean;
  /** Estimated tokens without references. */
  readonly inline: number;
}

/** Returns the costs of all answers that report them, oldest first. */
export function turnCosts(messages: readonly UIMessage[]): readonly TurnCost[] {
  return messages.flatMap((message, index) => {
    const { id, role } = message;
    const { savings, cost, usage } = metadataOf(message);
    if (role !== "assistant" || savings === undefined) return [];
    const question = textsOf(messages[index - 1]?.parts ?? [])[0] ?? "";
    return [{ id, question, ...costOf(savings, usage), rowsWritten: cost?.rowsWritten }];
  });
}

export function costOf(savings: Savings, usage: Partial<TurnMetadata>["usage"]) {
  const { wouldNotFit = 0 } = savings;
  return { ...savings, wouldNotFit, tokens: tokensOf(savings, usage?.inputTokens) };
}

export function totalsOf(turns: readonly TurnCost[]): Cost {
  const sum = (pick: (turn: TurnCost) => number | undefined) =>
    turns.reduce((total, turn) => total + (pick(turn) ?? 0), 0);
  return {
    promptChars: sum((turn) => turn.promptChars),
    inlinePromptChars: sum((turn) => turn.inlinePromptChars),
    authoredChars: sum((turn) => turn.authoredChars),
    resolvedChars: sum((turn) => turn.resolvedChars),
    wouldNotFit: sum((turn) => turn.wouldNotFit),
    tokens: {
      sent: sum(({ tokens }) => tokens.sent),
      isReported: turns.every(({ tokens }) => tokens.isReported),
      inline: sum(({ tokens }) => tokens.inline),
    },
    rowsWritten: sum((turn) => turn.rowsWritten),
  };
}

/** An estimate where the provider reports nothing: tokenizers differ. */
const CHARS_PER_TOKEN = 4;

type Sizes = Pick<Savings, "promptChars" | "inlinePromptChars">;

/** Estimates the tokens of values at the rate of the sent prompt. */
export function tokensOf(
  { promptChars, inlinePromptChars }: Sizes,
  reported: number | undefined,
): PromptTokens {
  const sent = reported ?? promptChars / CHARS_PER_TOKEN;
  const rate = promptChars === 0 ? 1 / CHARS_PER_TOKEN : sent / promptChars;
  return {
    sent: Math.round(sent),
    isReported: reported !== undefined,
    inline: Math.round(inlinePromptChars * rate),
  };
}

/** References have saved something if the prompt is below this share of the one without references. */
const SAVES_BELOW = 0.9;

export const NOTHING_SAVED = "Nothing to save here: results were small";
export const WOULD_NOT_FIT = "would not have fitted into the context window";

/** True if prompts were noticeably shorter than they would have been without references. */
export function savesPrompt({ promptChars, inlinePromptChars }: Sizes): boolean {
  return promptChars < inlinePromptChars * SAVES_BELOW;
}

export function expandedWords({ authoredChars, resolvedChars }: Savings): string {
  const written = `Model wrote ${figure(authoredChars)} characters`;
  return `${written}; they expanded to ${figure(resolvedChars)}`;
}
