import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { UIMessage } from "ai";
import { useMemo } from "react";
import type { Session } from "../session.ts";

/** The texts of each answer as the model wrote them, by the message's id. */
export type WrittenTexts = ReadonlyMap<string, readonly string[]>;

const PAGE = 100;

/**
 * Loads the texts as the model wrote them. Answers are shown without them until then. Loads only if
 * `hasAnswers`.
 */
export function useWritten({ client, conversation }: Session, hasAnswers: boolean): WrittenTexts {
  const queries = useQueryClient();
  const queryKey = ["conversation", conversation, "written"];
  const { data } = useQuery({
    queryKey,
    enabled: hasAnswers,
    // Unchanged texts keep their identity, so that answers are not rendered again.
    queryFn: async (): Promise<Readonly<Record<string, readonly string[]>>> => {
      const query = { form: "reference", limit: PAGE } as const;
      const { messages } = await client.conversation(conversation).messages(query);
      const known = queries.getQueryData<object>(queryKey);
      return {
        ...known,
        ...Object.fromEntries(messages.map(({ id, parts }) => [id, textsOf(parts)])),
      };
    },
  });
  return useMemo(() => new Map(Object.entries(data ?? {})), [data]);
}

export function textsOf(parts: UIMessage["parts"]): readonly string[] {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
}
