import type { Savings } from "../../../src/turn/spend/savings.ts";
import { figure } from "../words.ts";
import { tokensOf } from "./turn-costs.ts";

/** References have saved something if the prompt is below this share of the one without references. */
const SAVES_BELOW = 0.9;

export const NOTHING_SAVED = "Nothing to save here: results were small";
export const WOULD_NOT_FIT = "would not have fitted into the context window";

type Sizes = Pick<Savings, "promptChars" | "inlinePromptChars">;

/** True if prompts were noticeably shorter than they would have been without references. */
export function savesPrompt({ promptChars, inlinePromptChars }: Sizes): boolean {
  return promptChars < inlinePromptChars * SAVES_BELOW;
}

/** Describes the savings of a turn in one line. `reported`: the input tokens, if the provider reports them. */
export function savingsInWords(savings: Savings, reported: number | undefined): string {
  const { authoredChars, resolvedChars, wouldNotFit = 0 } = savings;
  const tokens = tokensOf(savings, reported);
  const sent = `${tokens.isReported ? "" : "≈ "}${figure(tokens.sent)} tokens sent`;
  if (wouldNotFit > 0) return `${sent} (without references it ${WOULD_NOT_FIT})`;
  if (savesPrompt(savings)) return `${sent} (≈ ${figure(tokens.inline)} without references)`;
  if (resolvedChars <= authoredChars) return `${sent}. ${NOTHING_SAVED}`;
  const written = `Model wrote ${figure(authoredChars)} characters`;
  return `${written}; they expanded to ${figure(resolvedChars)}`;
}
