import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { aboutOf, type Loaded, loadMessages } from "../chat/load-messages.ts";
import { unchanging } from "../queries.ts";
import type { Entry, Session } from "../session.ts";
import { isUnheardOf } from "./use-route.ts";

export interface Opened {
  readonly session: Session;
  /** Undefined until the conversation is loaded. */
  readonly loaded: Loaded | undefined;
  readonly title: string | null | undefined;
  readonly exists: boolean;
  readonly trouble: unknown;
  readonly retry: () => void;
}

/** Loads the conversation that the URL names. */
export function useOpened(entry: Entry, id: string): Opened {
  const session = useMemo(() => ({ ...entry, conversation: id }), [entry, id]);
  const opened = useQuery({
    queryKey: ["conversation", id, "opened"],
    queryFn: () => load(session),
    ...unchanging,
    // Not cached, because the conversation may have other messages when it is opened again.
    gcTime: 0,
  });
  const { data: about } = useQuery({
    queryKey: ["conversation", id, "about"],
    queryFn: async () => (isUnheardOf(id) ? null : ((await aboutOf(session)) ?? null)),
  });
  return {
    session,
    loaded: opened.data,
    title: about?.title,
    exists: about != null,
    trouble: opened.error ?? undefined,
    retry: () => void opened.refetch(),
  };
}

async function load(session: Session): Promise<Loaded> {
  const isThere = !isUnheardOf(session.conversation) && (await aboutOf(session)) !== undefined;
  if (!isThere) return { messages: [], next: undefined, exists: false };
  const { messages, next } = await loadMessages(session);
  return { messages, next, exists: true };
}
