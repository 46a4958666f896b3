import type { VariableInfo, VariableStore, Write } from "../store/variable-store.ts";
import type { RunScope } from "./wrapped-tool.ts";

/**
 * The variables as a run has them: under the names that its plan calls them by, those of the conversation
 * that it cannot name left out of lists. What is made under a name of the run's own ends with it. Holds,
 * pages, and what concerns the store as a whole, stay the store's.
 */
export function storeInRun(store: VariableStore, scope: RunScope): VariableStore {
  const nameOf = (name: string) => scope.nameOf(name);
  const seen = (info: VariableInfo) => ({ ...info, name: writtenName(info.name, scope) ?? "" });
  const inRun = (write: Write) => writeInRun(write, scope);
  const list: VariableStore["list"] = ({ last, names } = {}) => {
    const wanted = names === undefined ? {} : { names: names.map(nameOf) };
    const listed = store
      .list(wanted)
      .filter(({ name }) => writtenName(name, scope) !== undefined)
      .map(seen);
    return last === undefined ? listed : listed.slice(Math.max(listed.length - last, 0));
  };
  const own: Partial<VariableStore> = {
    list,
    count: () => list().length,
    glance: (name) => store.glance(nameOf(name)),
    info(name) {
      const info = store.info(nameOf(name));
      return info === undefined ? undefined : { ...info, name };
    },
    tombstone(name) {
      const tombstone = store.tombstone(nameOf(name));
      return tombstone === undefined ? undefined : { ...tombstone, name };
    },
    read: (name) => store.read(nameOf(name)),
    readPath: (name, path) => store.readPath(nameOf(name), path),
    open: (name) => store.open(nameOf(name)),
    delete: (name) => store.delete(nameOf(name)),
    update(name, changes) {
      const info = store.update(nameOf(name), changes);
      return info === undefined ? undefined : { ...info, name };
    },
    save(write) {
      const saving = store.save(inRun(write));
      return saving instanceof Promise ? saving.then(seen) : seen(saving);
    },
    saveAll(writes) {
      const saving = store.saveAll(writes.map(inRun));
      return saving instanceof Promise ? saving.then((infos) => infos.map(seen)) : saving.map(seen);
    },
    prepare: (write) => store.prepare(inRun(write)),
  };
  return new Proxy(store, {
    get(target, key) {
      const member: unknown = Reflect.get(own, key) ?? Reflect.get(target, key);
      // A store has private fields, which a proxy has not.
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

/** What the run calls a variable; undefined if it has one of its own of that name instead. */
function writtenName(name: string, scope: RunScope): string | undefined {
  const ending = `_${scope.run}`;
  const stem = name.endsWith(ending) ? name.slice(0, -ending.length) : name;
  return [stem, name].find((written) => scope.nameOf(written) === name);
}

function writeInRun(write: Write, scope: RunScope): Write {
  if (typeof write.name !== "string") return write;
  const name = scope.nameOf(write.name);
  return name === write.name ? write : { ...write, name, run: scope.run };
}
