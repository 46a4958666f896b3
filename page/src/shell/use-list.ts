import { useInfiniteQuery } from "@tanstack/react-query";
import type { Api, Listed } from "./api.ts";

export interface ConversationsList {
  readonly conversations: readonly Listed[];
  readonly trouble: unknown;
  readonly isLoaded: boolean;
  /** Loads more; undefined if there are no more. */
  readonly more: (() => void) | undefined;
  readonly refresh: () => void;
}

/** The conversations, newest first; read again when something changes and when the page is looked at. */
export function useList(api: Api): ConversationsList {
  const { data, error, hasNextPage, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: ["conversations"],
    queryFn: ({ pageParam }) => api.list(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  return {
    conversations: data?.pages.flatMap(({ conversations }) => conversations) ?? [],
    trouble: error ?? undefined,
    isLoaded: data !== undefined,
    more: hasNextPage ? () => void fetchNextPage() : undefined,
    refresh: () => void refetch(),
  };
}
