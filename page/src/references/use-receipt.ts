import { useEffect, useState } from "react";
import type { AnswerReceipt } from "../../../src/client.ts";
import { useConversation } from "../conversation-context.ts";

/**
 * Loads the receipt of an answer once it is wanted, and again when the answer has grown after an approval:
 * `length` is that of its texts.
 */
export function useReceipt(
  messageId: string,
  { isWanted, length }: { readonly isWanted: boolean; readonly length: number },
): AnswerReceipt | undefined {
  const { client, conversation } = useConversation().session;
  const [loaded, setLoaded] = useState<{ readonly of: string; readonly receipt: AnswerReceipt }>();
  const of = `${messageId} ${length}`;
  useEffect(() => {
    if (!isWanted) return undefined;
    let isCurrent = true;
    client
      .conversation(conversation)
      .receipt(messageId)
      .then((receipt) => isCurrent && setLoaded({ of, receipt }))
      // Without it the answer is shown all the same.
      .catch((error: unknown) => console.warn(error));
    return () => {
      isCurrent = false;
    };
  }, [client, conversation, messageId, of, isWanted]);
  // The places of another text would cut this one anywhere.
  return loaded?.of === of ? loaded.receipt : undefined;
}
