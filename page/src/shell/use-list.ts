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

/** The conversations, newest first. Reloads after changes, and when the page becomes visible. */
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
