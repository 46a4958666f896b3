import { useQuery } from "@tanstack/react-query";
import type { AnswerReceipt } from "../../../src/client.ts";
import { useConversation } from "../conversation-context.ts";
import { unchanging } from "../queries.ts";

/**
 * Loads the receipt of an answer once it is wanted, and again when the answer has grown after an approval:
 * `length` is that of its texts. Without it the answer is shown all the same.
 */
export function useReceipt(
  messageId: string,
  { isWanted, length }: { readonly isWanted: boolean; readonly length: number },
): AnswerReceipt | undefined {
  const { client, conversation } = useConversation().session;
  const { data } = useQuery({
    // The places of another text would cut this one anywhere.
    queryKey: ["conversation", conversation, "receipt", messageId, length],
    queryFn: () => client.conversation(conversation).receipt(messageId),
    enabled: isWanted,
    ...unchanging,
  });
  return data;
}
