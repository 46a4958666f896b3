import { readReference, unknownName } from "../reference/lookup-in.ts";
import type { Lookup, Missing, Reference } from "../reference/reference.ts";
import type { Tombstone, VariableStore } from "../store/variable-store.ts";

/** Where references and a conversation's variables meet. */
export function lookupInStore(store: VariableStore): Lookup {
  return (reference) => {
    const { name, path } = reference;
    const value = store.read(name);
    if (value === undefined) return missing(reference, store);
    const chars = path.length === 0 ? store.info(name)?.chars : undefined;
    const answer = readReference(reference, value);
    return answer.found && chars !== undefined ? { ...answer, chars } : answer;
  };
}

function missing({ name }: Reference, store: VariableStore): Missing {
  const tombstone = store.tombstone(name);
  if (tombstone === undefined) {
    return unknownName(
      name,
      store
        .list({ last: 1_000 })
        .map((info) => info.name)
        .reverse(),
    );
  }
  return { found: false, reason: "evicted", message: evictionMessage(tombstone), tombstone };
}

/** When and why a variable went, and which call brings it back. */
export function evictionMessage({ name, tool, input, evictedAt, reason }: Tombstone): string {
  const went = `$${name} was evicted at ${evictedAt} (${reason}).`;
  if (tool === undefined) return `${went} Ask for it to be given again.`;
  const call = input === undefined ? tool : `${tool}(${JSON.stringify(input)})`;
  return `${went} It came from ${call}: call that again to have it back.`;
}
