import type { UIMessageChunk } from "ai";
import type { Change } from "../store/variable-store.ts";

/** What a stream tells of a change, whoever made it; nothing of a deletion. */
export function changeChunk(change: Change): UIMessageChunk | undefined {
  if (change.kind === "deleted") return undefined;
  const { info } = change;
  const { evictedAt, reason } = change.kind === "evicted" ? change.tombstone : {};
  const data = reason === undefined ? info : { ...info, evictedAt, reason };
  return { type: "data-variable", data, transient: true };
}
