import type { UIMessageChunk } from "ai";
import * as limits from "../limits.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { Change } from "../store/variable.ts";

/**
 * Tells a stream of the store's changes, whoever makes them: `maxTurnChanges` at most. Returns what ends it.
 */
export function tellChanges(
  store: VariableStore,
  emit: (chunk: UIMessageChunk) => void,
): () => void {
  let told = 0;
  return store.observe((change) => {
    const chunk = chunkOf(change);
    if (chunk !== undefined && ++told <= limits.maxTurnChanges) emit(chunk);
  });
}

/** Nothing is told of a deletion. */
function chunkOf(change: Change): UIMessageChunk | undefined {
  if (change.kind === "deleted") return undefined;
  const { info } = change;
  const { evictedAt, reason } = change.kind === "evicted" ? change.tombstone : {};
  const data = reason === undefined ? info : { ...info, evictedAt, reason };
  return { type: "data-variable", data, transient: true };
}
