import type { UIMessage } from "ai";
import type { ReactNode } from "react";
import type { TurnMetadata } from "../../../src/turn/turn.ts";
import { useConversation } from "../conversation-context.ts";
import { NOTHING_SAVED, savingsInWords } from "../meter/savings-words.ts";
import { isToolPart } from "./tool-part.ts";
import "./savings-chip.css";

/** Shows the tokens saved in this turn, and opens the meter. */
export function SavingsChip({ message }: { readonly message: UIMessage }): ReactNode {
  const { openMeter } = useConversation();
  const { savings, usage } = { ...(message.metadata as Partial<TurnMetadata> | undefined) };
  if (savings === undefined) return null;
  const words = savingsInWords(savings, usage?.inputTokens);
  // Without tool results there was nothing to save.
  if (words.endsWith(NOTHING_SAVED) && !message.parts.some(isToolPart)) return null;
  return (
    <button type="button" className="savings-chip" title="Open the meter" onClick={openMeter}>
      {words}
    </button>
  );
}
