import type { UIMessage } from "ai";
import { useEffect, useState } from "react";
import type { Session } from "../session.ts";

/** The texts of each answer as the model wrote them, by the message's id. */
export type WrittenTexts = ReadonlyMap<string, readonly string[]>;

const PAGE = 100;

/** Asked for anew whenever `answers`, the number of whole answers that are shown, or `revision` changes. */
export function useWritten(
  { client, conversation }: Session,
  revision: number,
  hasAnswers: boolean,
): WrittenTexts {
  const [written, setWritten] = useState<WrittenTexts>(new Map());
  useEffect(() => {
    if (!hasAnswers) return undefined;
    let isCurrent = true;
    const read = async () => {
      const query = { form: "reference", limit: PAGE } as const;
      const { messages } = await client.conversation(conversation).messages(query);
      if (!isCurrent) return;
      const texts = messages.map(({ id, parts }) => [id, textsOf(parts)] as const);
      // The same map while nothing in it is new: with it all answers are drawn again.
      setWritten((known) => {
        const fresh = texts.filter(([id, own]) => String(known.get(id)) !== String(own));
        return fresh.length === 0 ? known : new Map([...known, ...fresh]);
      });
    };
    // Without it answers are shown all the same.
    read().catch((error: unknown) => console.warn(error));
    return () => {
      isCurrent = false;
    };
  }, [client, conversation, revision, hasAnswers]);
  return written;
}

export function textsOf(parts: UIMessage["parts"]): readonly string[] {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
}
