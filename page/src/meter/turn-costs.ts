import type { UIMessage } from "ai";
import type { TurnMetadata } from "../../../src/turn/turn.ts";

/** Cost of a turn, with and without references. */
export interface TurnCost {
  readonly id: string;
  readonly question: string;
  readonly promptChars: number;
  readonly inlinePromptChars: number;
  readonly authoredChars: number;
  readonly resolvedChars: number;
  /** Number of model calls whose prompt would not have fitted into the context window by value. */
  readonly wouldNotFit: number;
  readonly tokens: PromptTokens;
  readonly rowsWritten: number | undefined;
  /** Milliseconds until the first visible part. Undefined for turns from before the page was opened. */
  readonly firstPartMs: number | undefined;
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
export function turnCosts(
  messages: readonly UIMessage[],
  firstParts: ReadonlyMap<string, number>,
): readonly TurnCost[] {
  return messages.flatMap(({ id, role, metadata }, index) => {
    // Written by the server. An answer that was stopped early may lack fields.
    const { savings, cost, usage } = { ...(metadata as Partial<TurnMetadata> | undefined) };
    if (role !== "assistant" || savings === undefined) return [];
    return [
      {
        id,
        question: questionOf(messages[index - 1]),
        ...savings,
        wouldNotFit: savings.wouldNotFit ?? 0,
        tokens: tokensOf(savings, usage?.inputTokens),
        rowsWritten: cost?.rowsWritten,
        firstPartMs: firstParts.get(id),
      },
    ];
  });
}

export type Totals = Pick<TurnCost, "tokens" | "wouldNotFit"> & {
  readonly promptChars: number;
  readonly inlinePromptChars: number;
  readonly authoredChars: number;
  readonly resolvedChars: number;
  readonly rowsWritten: number;
};

export function totalsOf(turns: readonly TurnCost[]): Totals {
  const sum = (pick: (turn: TurnCost) => number) =>
    turns.reduce((total, turn) => total + pick(turn), 0);
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
    rowsWritten: sum((turn) => turn.rowsWritten ?? 0),
  };
}

/** An estimate where the provider reports nothing: tokenizers differ. */
const CHARS_PER_TOKEN = 4;

/** Estimates the tokens of values at the rate of the sent prompt. */
export function tokensOf(
  { promptChars, inlinePromptChars }: Pick<TurnCost, "promptChars" | "inlinePromptChars">,
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

function questionOf(message: UIMessage | undefined): string {
  const part = message?.parts.find(({ type }) => type === "text");
  return part?.type === "text" ? part.text : "";
}
