import { codeOf, type ErrorCode, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Content } from "../store/bytes/content.ts";
import { type Lookup, LookupWork, type Missing } from "../reference/lookup.ts";
import { nearest } from "../reference/near.ts";
import type { Reference } from "../reference/reference.ts";
import type {
  Changes,
  ListOptions,
  PreparedWrite,
  UserVariables,
  Variables,
  Write,
} from "../store/variable-store.ts";
import type { VariableStore } from "../store/variables.ts";
import { nameInScope, USER } from "../store/user-variables.ts";
import type { OpenValue, Glance, Tombstone, VariableInfo } from "../store/variable.ts";
import type { Json } from "../value/json.ts";
import type { Path, Reading } from "../value/path.ts";
import type { Work } from "../value/work.ts";
import { requireOpen, type SaveTarget, saveTargetIn, takenName } from "./save-target.ts";
import { type LookupOptions, lookupInStore } from "./store-lookup.ts";
import type { RunScope } from "./wrapped-tool.ts";

/**
 * The variables as seen by one plan run or, without a run, by the rest of the conversation. A run has
 * variables of its own, which only it can access, by the names in its plan. Lists omit variables that have
 * no name in the scope. A variable that is created under one of the run's own names ends with the run.
 */
export class ScopedStore implements Variables {
  readonly #store: VariableStore;
  readonly #scope: RunScope | undefined;

  constructor(store: VariableStore, scope?: RunScope) {
    this.#store = store;
    this.#scope = scope;
  }

  list(options: ListOptions = {}): readonly VariableInfo[] {
    // Most conversations have no runs. Then variables are looked up only when requested.
    if (this.#scope === undefined && this.#store.runs().length === 0) {
      return this.#store.list(options);
    }
    const { last, names } = options;
    const wanted = names?.flatMap((name) => this.#stored(name) ?? []);
    const listed = this.#store.list(wanted === undefined ? {} : { names: wanted });
    const named = listed.flatMap((info) => {
      const name = writtenName(info.name, this.#store, this.#scope);
      return name === undefined ? [] : { ...info, name };
    });
    return last === undefined ? named : named.slice(Math.max(named.length - last, 0));
  }

  count(): number {
    return this.list().length;
  }

  couldBegin(prefix: string): boolean {
    const isOwn = this.#scope?.names?.some((name) => name.startsWith(prefix)) === true;
    return isOwn || this.#store.couldBegin(prefix);
  }

  glance(name: string): Glance | undefined {
    return this.#find(name, (stored) => this.#store.glance(stored));
  }

  info(name: string): VariableInfo | undefined {
    return this.#find(name, (stored) => withName(this.#store.info(stored), name));
  }

  tombstone(name: string): Tombstone | undefined {
    return this.#find(name, (stored) => withName(this.#store.tombstone(stored), name));
  }

  async read(name: string): Promise<Json | undefined> {
    return this.#find(name, (stored) => this.#store.read(stored));
  }

  async readPath(name: string, path: Path, work?: Work): Promise<Reading | undefined> {
    return this.#find(name, (stored) => this.#store.readPath(stored, path, work));
  }

  open(name: string): OpenValue | undefined {
    return this.#find(name, (stored) => this.#store.open(stored));
  }

  delete(name: string): boolean {
    return this.#find(name, (stored) => this.#store.delete(stored)) === true;
  }

  undo(name: string): VariableInfo | undefined {
    return this.#find(name, (stored) => withName(this.#store.undo(stored), name));
  }

  update(name: string, changes: Changes): VariableInfo | undefined {
    return this.#find(name, (stored) => withName(this.#store.update(stored, changes), name));
  }

  receive(stream: ReadableStream<Uint8Array>, mediaType: string): Promise<Content> {
    return this.#store.receive(stream, mediaType);
  }

  async save(write: Write): Promise<VariableInfo> {
    return this.#written(await this.#store.save(this.#placed(write)));
  }

  async saveAll(writes: readonly Write[]): Promise<readonly VariableInfo[]> {
    const infos = await this.#store.saveAll(writes.map((write) => this.#placed(write)));
    return infos.map((info) => this.#written(info));
  }

  async prepareAll(writes: readonly Write[]): Promise<PreparedWrite<readonly VariableInfo[]>> {
    const placed = writes.map((write) => this.#placed(write));
    const { commit, discard } = await this.#store.prepareAll(placed);
    return { commit: () => commit().map((info) => this.#written(info)), discard };
  }

  #stored(name: string): string | undefined {
    return nameFor(name, this.#store, this.#scope);
  }

  #find<Found>(name: string, look: (stored: string) => Found): Found | undefined {
    const stored = this.#stored(name);
    return stored === undefined ? undefined : look(stored);
  }

  #written(info: VariableInfo): VariableInfo {
    const name = writtenName(info.name, this.#store, this.#scope);
    return name === undefined ? info : { ...info, name };
  }

  #placed(write: Write): Write {
    if (typeof write.name !== "string") return ownedBy(this.#scope, write);
    const name = this.#stored(write.name);
    if (name === undefined) throw takenName(write.name);
    const isOwn = this.#scope !== undefined && name !== write.name;
    return isOwn ? { ...write, name, run: this.#scope.run } : write;
  }
}

function withName<Found extends { readonly name: string }>(
  found: Found | undefined,
  name: string,
): Found | undefined {
  return found === undefined ? undefined : { ...found, name };
}

/** The scope in which a reference is read: none for a place that the run inherits from the conversation. */
export function scopeFor(reference: Reference, scope?: RunScope): RunScope | undefined {
  return scope?.inherits?.(reference) === true ? undefined : scope;
}

/** Resolves references in a `ScopedStore`. `onUsed` receives the names in the underlying store. */
export function lookupFor(
  scope: RunScope | undefined,
  store: VariableStore,
  { secrets = [], onUsed, ...options }: LookupOptions,
): Lookup {
  const look = (at: Reference | Missing, work: LookupWork | undefined) => {
    if ("found" in at) return at;
    const from = scopeFor(at, scope);
    const stored = (name: string) => nameFor(name, store, from);
    const lookup = lookupInStore(new ScopedStore(store, from), {
      ...options,
      // A secret that is shadowed by a variable of the run is not the one that the policy allows.
      secrets: secrets.filter((name) => stored(name) === name),
      onUsed: (name) => onUsed?.(stored(name) ?? name),
    });
    return lookup(at, work);
  };
  return (reference, work) => {
    const at = locateReference(reference, store, work);
    return at instanceof Promise ? at.then((found) => look(found, work)) : look(at, work);
  };
}

/** Returns the place that is read: `$user.address.city` is `city` of the value `user.address`, loaded now. */
export function locateReference(
  reference: Reference,
  { user }: VariableStore,
  work?: LookupWork,
): Reference | Missing | Promise<Reference | Missing> {
  if (user === undefined || reference.name !== USER) return reference;
  return locatedIn(user.scope, reference, work);
}

async function locatedIn(
  scope: UserVariables,
  { path: [first, ...path] }: Reference,
  work = new LookupWork(),
): Promise<Reference | Missing> {
  if (first === undefined || !("key" in first)) return { found: false, reason: "unknown" };
  try {
    await scope.load();
  } catch (error) {
    return unreadable(codeOf(error), messageOf(error));
  }
  const name = nameInScope(first.key);
  const info = scope.info(name);
  if (info?.type === "bytes")
    return unreadable("bad_value", `$${name} is bytes: read it over HTTP.`);
  if (info !== undefined) return { name, path };
  const names = scope.list().map((one) => one.name.slice(USER.length + 1));
  const near = work.explains() ? nearest(first.key, names) : [];
  const keys = names.slice(0, limits.maxShownItems);
  return { found: false, reason: "path", nearest: USER, keys, ...(near.length > 0 && { near }) };
}

function unreadable(code: ErrorCode, message: string): Missing {
  return { found: false, reason: "unreadable", code, message };
}

/** Returns the stored name for a written name; undefined if it belongs to another run. */
export function nameFor(name: string, store: VariableStore, scope?: RunScope): string | undefined {
  const chosen = scope?.nameOf(name) ?? name;
  if (scope !== undefined && chosen === name) {
    const own = `${name}_${scope.run}`;
    const isOwn = store.glance(own)?.run === scope.run || store.tombstone(own) !== undefined;
    if (isOwn) return own;
  }
  const run = store.glance(chosen)?.run;
  const isEnded = store.tombstone(chosen)?.reason === "run_ended";
  const isOthers = run === undefined ? isEnded : run !== scope?.run;
  return isOthers && chosen === name ? undefined : chosen;
}

/** Returns the name of a stored variable in the scope; undefined if it has none. */
export function writtenName(
  name: string,
  store: VariableStore,
  scope?: RunScope,
): string | undefined {
  const ending = `_${scope?.run}`;
  const stem = name.endsWith(ending) ? [name.slice(0, -ending.length)] : [];
  const named = scope?.names?.filter((own) => scope.nameOf(own) === name) ?? [];
  return [...named, ...stem, name].find((written) => nameFor(written, store, scope) === name);
}

/**
 * Parses the place for a call's result. Throws `bad_path` or `bad_alternatives`, and `bad_name` or
 * `variable_secret` for a place that cannot be written.
 */
export function targetFor(text: string, store: VariableStore, scope?: RunScope): SaveTarget {
  const { operator, places } = saveTargetIn(text);
  const stored = places.map((place) => {
    const name = nameFor(place.name, store, scope);
    if (name === undefined) throw takenName(place.name);
    return scope === undefined || name === place.name ? place : { ...place, name, run: scope.run };
  });
  requireOpen({ operator, places: stored }, store, scope?.run);
  return { operator, places: stored };
}

/** Assigns the write to the run if it has an automatic name and the run owns its results. */
export function ownedBy(scope: RunScope | undefined, write: Write): Write {
  if (scope?.ownsResults !== true || typeof write.name === "string") return write;
  return { ...write, run: scope.run };
}
