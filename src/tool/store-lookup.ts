import { requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import type { ExpandOptions } from "../reference/expand.ts";
import { answerFrom, unknownName, unreadable } from "../reference/lookup-in.ts";
import { LookupWork, type Found, type Lookup, type Missing } from "../reference/lookup.ts";
import type { Reference } from "../reference/reference.ts";
import type { Variables } from "../store/variable-store.ts";
import type { Glance, Tombstone, VariableInfo } from "../store/variable.ts";
import { clip } from "../value/characters.ts";
import type { Json } from "../value/json.ts";
import { formatPath } from "../value/path.ts";
import { problemFrom } from "../reference/reference-problem.ts";

/** Limits of what a lookup returns and reveals. */
export interface LookupOptions {
  /** Names of the secrets that a lookup may return. Default: none. */
  readonly secrets?: readonly string[];
  /**
   * True: a reference to all of a variable with bytes returns them as a new Uint8Array. Default: an error.
   */
  readonly bytes?: boolean;
  /** True if errors must not reveal the content of untrusted values. Default: false. */
  readonly hidesUntrusted?: boolean;
  /** Called with the name of each existing variable that is looked up. Must not throw. */
  readonly onUsed?: (name: string) => void;
}

/** Whatever is wrong with a reference into a guarded value: errors must not reveal its content. */
const NOT_FOUND: Missing = { found: false, reason: "path" };

/** Resolves references to the variables of a conversation. */
export function lookupInStore(store: Variables, options: LookupOptions = {}): Lookup {
  return (reference, work = new LookupWork()) => {
    const { name, path } = reference;
    const glance = store.glance(name);
    if (glance === undefined) return missing(reference, store, work);
    const isSecret = glance.visibility === "secret";
    if (isSecret && options.secrets?.includes(name) !== true) {
      return { found: false, reason: "secret" };
    }
    options.onUsed?.(name);
    const isBytes = glance.type === "bytes" && path.length === 0;
    if (isBytes && options.bytes === true) return readBytes(reference, store).catch(unreadable);
    return read(reference, { ...options, store, work, glance });
  };
}

async function read(reference: Reference, options: ReadState): Promise<Found | Missing> {
  const { store, work, glance, hidesUntrusted = false } = options;
  const { name, path } = reference;
  const isGuarded = glance.visibility !== "model";
  try {
    const reading = await store.readPath(name, path, work);
    if (reading === undefined) return missing(reference, store, work);
    const answer = answerFrom(reference, reading, work);
    if (!answer.found) {
      const isHidden = isGuarded || (hidesUntrusted && store.info(name)?.trusted === false);
      return isHidden ? NOT_FOUND : answer;
    }
    const isInert = isGuarded || glance.flags?.includes("composed") === true;
    return {
      ...answer,
      name,
      version: glance.version,
      ...(path.length === 0 ? { chars: glance.chars } : {}),
      ...(isInert ? { inert: true } : {}),
    };
  } catch (error) {
    return isGuarded ? NOT_FOUND : unreadable(error);
  }
}

/** Lets the text of an answer pass at once where it cannot name a variable of the store. */
export function knownNamesOf(store: Variables): Pick<ExpandOptions, "couldBegin" | "isKnown"> {
  return {
    couldBegin: (prefix) => store.couldBegin(prefix),
    isKnown: (name) => store.glance(name) !== undefined || store.tombstone(name) !== undefined,
  };
}

/** Reads a value with `lookupInStore`. Throws the errors of references. */
export async function readValue(
  store: Variables,
  reference: Reference,
  options: LookupOptions,
): Promise<Json> {
  return valueOf(reference, await lookupInStore(store, options)(reference));
}

/** Returns the value that was found. Throws the errors of references. */
export function valueOf({ name, path }: Reference, found: Found | Missing): Json {
  if (found.found) return found.value;
  throw problemFrom(`$${name}${formatPath(path)}`, found);
}

interface ReadState extends LookupOptions {
  readonly store: Variables;
  readonly work: LookupWork;
  /** The variable when it was read. Another variable may have its name by now. */
  readonly glance: Glance;
}

/** Reads the stored bytes of all of a variable. */
export async function readBytes({ name }: Reference, store: Variables): Promise<Found | Missing> {
  const value = store.open(name);
  if (value === undefined) return missing({ name, path: [] }, store);
  try {
    const { bytes } = value.info;
    requireAtMost("maxJsonBytes", bytes, `Read $${name} in parts, over HTTP.`);
    const read = await value.read(0, bytes);
    // A Uint8Array is not JSON, but callers that set `bytes` expect one.
    return { found: true, value: read.slice() as unknown as Json, name, chars: bytes };
  } finally {
    value.close();
  }
}

/** Describes why there is no such variable. */
export function missing({ name }: Reference, store: Variables, work = new LookupWork()): Missing {
  const tombstone = store.tombstone(name);
  if (tombstone === undefined) {
    const newest = () => store.list({ last: limits.maxItems }).map((info) => info.name);
    return unknownName(name, work, () => newest().reverse());
  }
  return { found: false, reason: "evicted", message: evictionMessage(tombstone), tombstone };
}

const MAX_NEWEST = 5;

/**
 * Says which variables there are, newest first, for a model that wrote a name unlike all of them. Guarded ones
 * and bytes are left out, because they cannot be read.
 */
export function newestNames(store: Variables): string {
  const shown = newestVisible(store).map(({ name, type }) => `$${name} (${type})`);
  return shown.length === 0 ? "" : ` There are ${shown.join(", ")}.`;
}

/** Returns the newest variables that a model may read, newest first. */
export function newestVisible(store: Variables): readonly VariableInfo[] {
  const newest = store.list({ last: 4 * MAX_NEWEST }).toReversed();
  return newest
    .filter(({ visibility, type }) => visibility === "model" && type !== "bytes")
    .slice(0, MAX_NEWEST);
}

/** Describes when and why a variable was evicted, and which call restores it. */
export function evictionMessage({ name, tool, input, evictedAt, reason }: Tombstone): string {
  const evicted = `$${name} was evicted at ${evictedAt} (${reason}).`;
  if (tool === undefined) return `${evicted} Ask for it to be given again.`;
  const written = input === undefined ? "" : `(${JSON.stringify(input)})`;
  const call = `${tool}${clip(written, limits.maxShownResultChars)}`;
  return `${evicted} It came from ${call}: call that again to have it back.`;
}
