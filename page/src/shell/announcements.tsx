import type { UIMessage } from "ai";
import { useEffect, useRef, useState } from "react";
import { isToolPart } from "../chat/tool-part.ts";
import type { Chatting } from "../chat/use-chatting.ts";
import { plural } from "../words.ts";

interface AnnouncementsProps {
  readonly chatting: Pick<Chatting, "isBusy" | "messages">;
  /** Number of variables. */
  readonly variables: number;
}

/** Announces to screen readers when an answer begins and how it ends. Errors are alerts of their own. */
export function Announcements({ chatting: { isBusy, messages }, variables }: AnnouncementsProps) {
  const [words, setWords] = useState("");
  const wasBusy = useRef(false);
  const last = messages.at(-1);
  useEffect(() => {
    if (isBusy === wasBusy.current) return;
    wasBusy.current = isBusy;
    setWords(isBusy ? "Answering" : endOf(last, variables));
  }, [isBusy, last, variables]);
  return (
    <p className="unseen" role="status">
      {words}
    </p>
  );
}

function endOf(message: UIMessage | undefined, variables: number): string {
  const { error, stopped } = {
    ...(message?.metadata as { readonly error?: string; readonly stopped?: boolean } | undefined),
  };
  if (message?.parts.some((part) => isToolPart(part) && part.state === "approval-requested")) {
    return "The answer waits: approve or deny the call";
  }
  if (stopped === true) return "Answer ended early";
  if (message?.role !== "assistant" || error !== undefined) return "";
  return `Answer finished, ${plural(variables, "variable")}`;
}
