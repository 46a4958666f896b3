import { useEffect, useMemo, useState } from "react";
import { aboutOf, type Loaded, loadMessages } from "../chat/load-messages.ts";
import type { Entry, Session } from "../session.ts";
import { isUnheardOf } from "./use-route.ts";

export interface Opened {
  readonly session: Session;
  /** Undefined until it is there. */
  readonly loaded: Loaded | undefined;
  readonly title: string | null | undefined;
  readonly exists: boolean;
  readonly trouble: unknown;
  readonly retry: () => void;
}

const READS_AFTER_MS = 150;

/** The conversation that the address names, as the server has it. */
export function useOpened(entry: Entry, id: string, revision: number): Opened {
  const session = useMemo(() => ({ ...entry, conversation: id }), [entry, id]);
  const [opened, setOpened] = useState<{ readonly id: string; readonly loaded: Loaded }>();
  const [about, setAbout] = useState<{ readonly id: string; readonly title: string | null }>();
  const [trouble, setTrouble] = useState<unknown>();
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    setTrouble(undefined);
    load(session)
      .then((loaded) => isCurrent && setOpened({ id, loaded }))
      .catch((error: unknown) => isCurrent && setTrouble(error));
    return () => {
      isCurrent = false;
    };
  }, [session, id, tries]);
  useEffect(() => {
    let isCurrent = true;
    const read = async () => {
      const known = isUnheardOf(id) ? undefined : await aboutOf(session);
      if (isCurrent) setAbout(known && { id, title: known.title });
    };
    const timer = setTimeout(() => {
      // The last title stays.
      read().catch((error: unknown) => console.warn(error));
    }, READS_AFTER_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [session, id, revision]);
  const isKnown = about?.id === id;
  return {
    session,
    loaded: opened?.id === id ? opened.loaded : undefined,
    title: isKnown ? about.title : undefined,
    exists: isKnown,
    trouble,
    retry: () => setTries(tries + 1),
  };
}

async function load(session: Session): Promise<Loaded> {
  const isThere = !isUnheardOf(session.conversation) && (await aboutOf(session)) !== undefined;
  if (!isThere) return { messages: [], next: undefined, exists: false };
  const { messages, next } = await loadMessages(session);
  return { messages, next, exists: true };
}
