import { codeOf, messageOf } from "../errors.ts";
import { answerFrom, unknownName } from "../reference/lookup-in.ts";
import type { Found, Lookup, Missing, Reference } from "../reference/reference.ts";
import type { Tombstone, VariableStore } from "../store/variable-store.ts";
import type { Reading } from "../value/path.ts";

export interface LookupOptions {
  /** Secrets that may be given to whoever asks. Default: none. */
  readonly secrets?: readonly string[];
  /** Told of each variable that is asked for and exists. Must not throw. */
  readonly onUsed?: (name: string) => void;
}

/** Where references and a conversation's variables meet. */
export function lookupInStore(store: VariableStore, options: LookupOptions = {}): Lookup {
  return (reference) => {
    const { name } = reference;
    const glance = store.glance(name);
    if (glance === undefined) return missing(reference, store);
    const isSecret = glance.visibility === "secret";
    if (isSecret && options.secrets?.includes(name) !== true) {
      return { found: false, reason: "secret" };
    }
    options.onUsed?.(name);
    try {
      const reading = store.readPath(name, reference.path);
      return reading instanceof Promise
        ? reading.then((read) => answer(reference, read, store)).catch(unreadable)
        : answer(reference, reading, store);
    } catch (error) {
      return unreadable(error);
    }
  };
}

function answer(
  reference: Reference,
  reading: Reading | undefined,
  store: VariableStore,
): Found | Missing {
  if (reading === undefined) return missing(reference, store);
  const { name, path } = reference;
  const glance = store.glance(name);
  const found = answerFrom(reference, reading);
  const isOpen = glance === undefined || glance.visibility === "model";
  // What is inside of a guarded value is not told by its errors either.
  if (!found.found) return isOpen ? found : { found: false, reason: "path" };
  return path.length === 0 && glance !== undefined
    ? { ...found, name, chars: glance.chars }
    : { ...found, name };
}

/** A value that is too large to be handed over, or bytes. Anything else is thrown on. */
function unreadable(error: unknown): Missing {
  const code = codeOf(error);
  if (code !== "limit_exceeded" && code !== "bad_value") throw error;
  return { found: false, reason: "unreadable", code, message: messageOf(error) };
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
