import type { Lookup } from "../reference/reference.ts";
import type { VariableInfo, VariableStore, Write } from "../store/variable-store.ts";
import { whenReady } from "../store/when-ready.ts";
import { requireOpen, type SaveTarget, saveTargetIn, takenName } from "./save-target.ts";
import { type LookupOptions, lookupInStore } from "./store-lookup.ts";
import type { RunScope } from "./wrapped-tool.ts";

/**
 * The variables as a run has them, or, without one, as all the rest of the conversation does: what is a
 * run's is nobody else's. In a run they go by the names that its plan calls them by, those of the
 * conversation that it cannot name left out of lists, and what is made under a name of the run's own ends
 * with it. Holds, pages, and what concerns the store as a whole, stay the store's.
 */
export function storeFor(scope: RunScope | undefined, store: VariableStore): VariableStore {
  const own = { ...reads(scope, store), ...changes(scope, store) };
  return new Proxy(store, {
    get(target, key) {
      const member: unknown = Reflect.get(own, key) ?? Reflect.get(target, key);
      // A store has private fields, which a proxy has not.
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** Where references are looked up in the same; `onUsed` is told the names that the store has. */
export function lookupFor(
  scope: RunScope | undefined,
  store: VariableStore,
  { secrets = [], onUsed, ...options }: LookupOptions,
): Lookup {
  const stored = (name: string) => nameFor(name, store, scope);
  return lookupInStore(storeFor(scope, store), {
    ...options,
    // One that the run hides by a variable of its own is not what was meant.
    secrets: secrets.filter((name) => stored(name) === name),
    onUsed: (name) => onUsed?.(stored(name) ?? name),
  });
}

/** The variable that a written name stands for; undefined if it is another run's. */
export function nameFor(name: string, store: VariableStore, scope?: RunScope): string | undefined {
  const chosen = scope?.nameOf(name) ?? name;
  if (scope !== undefined && chosen === name) {
    const own = `${name}_${scope.run}`;
    const isOwn = store.glance(own)?.run === scope.run || store.tombstone(own) !== undefined;
    if (isOwn) return own;
  }
  const run = store.glance(chosen)?.run;
  const isOthers = run === undefined ? isEnded(chosen, store) : run !== scope?.run;
  return isOthers && chosen === name ? undefined : chosen;
}

/** What a variable is called there; undefined if it cannot be named. */
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
 * The place that a call names for its result. Throws `bad_path` or `bad_alternatives`, and `bad_name` or
 * `variable_secret` for what cannot be written.
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

/** The write as the run's, if its name is found for it and the run has what it makes. */
export function ownedBy(scope: RunScope | undefined, write: Write): Write {
  if (scope?.ownsResults !== true || typeof write.name === "string") return write;
  return { ...write, run: scope.run };
}

function isEnded(name: string, store: VariableStore): boolean {
  return store.tombstone(name)?.reason === "run_ended";
}

type Reads = "list" | "count" | "couldBegin" | "glance" | "info" | "tombstone";
type Values = "read" | "readPath" | "open";

function reads(
  scope: RunScope | undefined,
  store: VariableStore,
): Pick<VariableStore, Reads | Values> {
  const find = <Found>(name: string, look: (stored: string) => Found): Found | undefined => {
    const stored = nameFor(name, store, scope);
    return stored === undefined ? undefined : look(stored);
  };
  const named = <Found extends { readonly name: string }>(name: string, found?: Found) =>
    found === undefined ? undefined : { ...found, name };
  const list: VariableStore["list"] = (options = {}) => {
    // Most conversations have no runs: then only what is asked for is looked up.
    if (scope === undefined && store.runs().length === 0) return store.list(options);
    const { last, names } = options;
    const wanted = names?.flatMap((name) => nameFor(name, store, scope) ?? []);
    const listed = store.list(wanted === undefined ? {} : { names: wanted }).flatMap((info) => {
      const name = writtenName(info.name, store, scope);
      return name === undefined ? [] : { ...info, name };
    });
    return last === undefined ? listed : listed.slice(Math.max(listed.length - last, 0));
  };
  return {
    list,
    count: () => list().length,
    couldBegin: (prefix) =>
      store.couldBegin(prefix) || scope?.names?.some((name) => name.startsWith(prefix)) === true,
    glance: (name) => find(name, (stored) => store.glance(stored)),
    info: (name) =>
      named(
        name,
        find(name, (stored) => store.info(stored)),
      ),
    tombstone: (name) =>
      named(
        name,
        find(name, (stored) => store.tombstone(stored)),
      ),
    read: (name) => find(name, (stored) => store.read(stored)),
    readPath: (name, path, work) => find(name, (stored) => store.readPath(stored, path, work)),
    open: (name) => find(name, (stored) => store.open(stored)),
  };
}

type Changes = "delete" | "update" | "save" | "saveAll" | "prepare";

function changes(scope: RunScope | undefined, store: VariableStore): Pick<VariableStore, Changes> {
  const written = (info: VariableInfo) => {
    const name = writtenName(info.name, store, scope);
    return name === undefined ? info : { ...info, name };
  };
  const inPlace = (write: Write): Write => {
    if (typeof write.name !== "string") return ownedBy(scope, write);
    const name = nameFor(write.name, store, scope);
    if (name === undefined) throw takenName(write.name);
    return scope === undefined || name === write.name ? write : { ...write, name, run: scope.run };
  };
  return {
    delete(name) {
      const stored = nameFor(name, store, scope);
      return stored !== undefined && store.delete(stored);
    },
    update(name, given) {
      const stored = nameFor(name, store, scope);
      const info = stored === undefined ? undefined : store.update(stored, given);
      return info === undefined ? undefined : { ...info, name };
    },
    save(write) {
      return whenReady(store.save(inPlace(write)), written);
    },
    saveAll(writes) {
      return whenReady(store.saveAll(writes.map(inPlace)), (infos) => infos.map(written));
    },
    prepare: (write) => store.prepare(inPlace(write)),
  };
}
