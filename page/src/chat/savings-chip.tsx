import type { UIMessage } from "ai";
import type { ReactNode } from "react";
import type { TurnMetadata } from "../../../src/turn/turn.ts";
import { useConversation } from "../conversation-context.ts";
import { NOTHING_SAVED, savingsInWords } from "../meter/savings-words.ts";
import { isToolPart } from "./tool-part.ts";
import "./savings-chip.css";

/** What references have saved in this turn. Opens the meter. */
export function SavingsChip({ message }: { readonly message: UIMessage }): ReactNode {
  const { openMeter } = useConversation();
  const { savings, usage } = { ...(message.metadata as Partial<TurnMetadata> | undefined) };
  if (savings === undefined) return null;
  const words = savingsInWords(savings, usage?.inputTokens);
  // An answer without results had nothing to save.
  if (words.endsWith(NOTHING_SAVED) && !message.parts.some(isToolPart)) return null;
  return (
    <button type="button" className="savings-chip" title="Open the meter" onClick={openMeter}>
      {words}
    </button>
  );
}
