import { codeOf, limitExceeded, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { answerFrom, unknownName } from "../reference/lookup-in.ts";
import type { Found, Lookup, Missing, Reference } from "../reference/reference.ts";
import type { Tombstone, VariableStore } from "../store/variable-store.ts";
import { whenSettled } from "../store/when-ready.ts";
import type { Json } from "../value/json.ts";
import type { Reading } from "../value/path.ts";

/** What whoever refers to variables may be given, and told. */
export interface LookupOptions {
  /** Secrets that may be given to whoever asks. Default: none. */
  readonly secrets?: readonly string[];
  /** Bytes are given to whoever asks for all of them: as a Uint8Array of their own. Default: refused. */
  readonly bytes?: boolean;
  /** What is inside of an untrusted value is not told by errors. Default: it is. */
  readonly hidesUntrusted?: boolean;
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
    const isBytes = glance.type === "bytes" && reference.path.length === 0;
    if (isBytes && options.bytes === true) return readBytes(reference, store);
    return whenSettled<Reading | undefined, Found | Missing>(
      () => store.readPath(name, reference.path),
      (reading) => answer(reference, reading, { ...options, store }),
      unreadable,
    );
  };
}

function answer(
  reference: Reference,
  reading: Reading | undefined,
  { store, hidesUntrusted = false }: LookupOptions & { readonly store: VariableStore },
): Found | Missing {
  if (reading === undefined) return missing(reference, store);
  const { name, path } = reference;
  const glance = store.glance(name);
  const found = answerFrom(reference, reading);
  // What is inside of a guarded value is not told by its errors either.
  if (!found.found) {
    const isGuarded = glance !== undefined && glance.visibility !== "model";
    const isHidden = hidesUntrusted && store.info(name)?.trusted === false;
    return isGuarded || isHidden ? { found: false, reason: "path" } : found;
  }
  return path.length === 0 && glance !== undefined
    ? { ...found, name, chars: glance.chars }
    : { ...found, name };
}

async function readBytes({ name }: Reference, store: VariableStore): Promise<Found | Missing> {
  const value = store.open(name);
  if (value === undefined) return missing({ name, path: [] }, store);
  try {
    const { bytes } = value.info;
    if (bytes > limits.maxJsonBytes) {
      const advice = `Read $${name} in parts, over HTTP.`;
      const { message } = limitExceeded("maxJsonBytes", {
        maximum: limits.maxJsonBytes,
        actual: bytes,
        advice,
      });
      return { found: false, reason: "unreadable", code: "limit_exceeded", message };
    }
    const read = await value.read(0, bytes);
    // No JSON, but handed over as it is: who asks for bytes knows what to do with them.
    return { found: true, value: read.slice() as unknown as Json, name, chars: bytes };
  } finally {
    value.close();
  }
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
