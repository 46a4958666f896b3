import { useQuery } from "@tanstack/react-query";
import type { AnswerReceipt } from "../../../packages/client/src/client.ts";
import { useConversation } from "../conversation-context.ts";
import { unchanging } from "../queries.ts";

/**
 * Loads the receipt of an answer when `isWanted`, and again if `length`, the length of its texts, has grown
 * after an approval. The answer is shown without it until then.
 */
export function useReceipt(
  messageId: string,
  { isWanted, length }: { readonly isWanted: boolean; readonly length: number },
): AnswerReceipt | undefined {
  const { client, conversation } = useConversation().session;
  const { data } = useQuery({
    // Offsets are valid for one text only.
    queryKey: ["conversation", conversation, "receipt", messageId, length],
    queryFn: () => client.conversation(conversation).receipt(messageId),
    enabled: isWanted,
    ...unchanging,
  });
  return data;
}
