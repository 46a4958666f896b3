import type { UIMessage } from "ai";
import type { TurnMetadata } from "../../../src/turn/turn.ts";

/** What one turn has cost, and what it would have cost by value. */
export interface TurnCost {
  readonly id: string;
  readonly question: string;
  readonly promptChars: number;
  readonly inlinePromptChars: number;
  readonly authoredChars: number;
  readonly resolvedChars: number;
  readonly rowsWritten: number | undefined;
  readonly totalTokens: number | undefined;
  /** Until something was to be seen; undefined for what was asked before this page was opened. */
  readonly firstPartMs: number | undefined;
}

/** One for each answer that says what it has cost, oldest first. */
export function turnCosts(
  messages: readonly UIMessage[],
  firstParts: ReadonlyMap<string, number>,
): readonly TurnCost[] {
  return messages.flatMap(({ id, role, metadata }, index) => {
    // The server's own; one that was stopped early may lack some of it.
    const { savings, cost, usage } = { ...(metadata as Partial<TurnMetadata> | undefined) };
    if (role !== "assistant" || savings === undefined) return [];
    return [
      {
        id,
        question: questionOf(messages[index - 1]),
        ...savings,
        rowsWritten: cost?.rowsWritten,
        totalTokens: usage?.totalTokens,
        firstPartMs: firstParts.get(id),
      },
    ];
  });
}

export interface Totals {
  readonly promptChars: number;
  readonly inlinePromptChars: number;
  readonly authoredChars: number;
  readonly resolvedChars: number;
  readonly rowsWritten: number;
}

export function totalsOf(turns: readonly TurnCost[]): Totals {
  const sum = (pick: (turn: TurnCost) => number) =>
    turns.reduce((total, turn) => total + pick(turn), 0);
  return {
    promptChars: sum((turn) => turn.promptChars),
    inlinePromptChars: sum((turn) => turn.inlinePromptChars),
    authoredChars: sum((turn) => turn.authoredChars),
    resolvedChars: sum((turn) => turn.resolvedChars),
    rowsWritten: sum((turn) => turn.rowsWritten ?? 0),
  };
}

const CHARS_PER_TOKEN = 4;

/** An estimate: tokenizers differ. */
export function tokensOf(chars: number): number {
  return Math.round(chars / CHARS_PER_TOKEN);
}

function questionOf(message: UIMessage | undefined): string {
  const part = message?.parts.find(({ type }) => type === "text");
  return part?.type === "text" ? part.text : "";
}
