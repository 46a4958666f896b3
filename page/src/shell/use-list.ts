import { useCallback, useEffect, useRef, useState } from "react";
import type { Api, Listed, ListedPage } from "./api.ts";

export interface ConversationsList {
  readonly conversations: readonly Listed[];
  readonly trouble: unknown;
  readonly isLoaded: boolean;
  /** Loads more; undefined if there are no more. */
  readonly more: (() => void) | undefined;
  readonly refresh: () => void;
}

const REFRESHES_AFTER_MS = 400;

/** The conversations, newest first; read again when `revision` changes and when the page is looked at. */
export function useList(api: Api, revision: number): ConversationsList {
  const [page, setPage] = useState<ListedPage>();
  const [trouble, setTrouble] = useState<unknown>();
  const isCurrent = useRef(0);
  const refresh = useCallback(() => {
    const asked = ++isCurrent.current;
    api
      .list()
      .then((first) => {
        if (asked !== isCurrent.current) return;
        setTrouble(undefined);
        setPage(first);
      })
      .catch(setTrouble);
  }, [api]);
  useEffect(() => {
    const timer = setTimeout(refresh, revision === 0 ? 0 : REFRESHES_AFTER_MS);
    return () => clearTimeout(timer);
  }, [refresh, revision]);
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && refresh();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [refresh]);
  const next = page?.next;
  const more = () => {
    const asked = ++isCurrent.current;
    api
      .list(next)
      .then((later) => {
        if (asked !== isCurrent.current) return;
        const known = page?.conversations ?? [];
        setPage({ ...later, conversations: [...known, ...later.conversations] });
      })
      .catch(setTrouble);
  };
  return {
    conversations: page?.conversations ?? [],
    trouble,
    isLoaded: page !== undefined,
    more: next === undefined ? undefined : more,
    refresh,
  };
}
