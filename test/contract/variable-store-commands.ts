import type fc from "fast-check";
import { expect } from "vitest";
import { bytesContent } from "../../src/store/bytes/content.ts";
import { summaryOf } from "../../src/store/summary.ts";
import type { Changes, ListOptions, Write } from "../../src/store/variable-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { Change } from "../../src/store/variable.ts";
import type { Path } from "../../src/value/path.ts";
import { expectCode, iso, namesOf } from "./variable-store-fixture.ts";
import {
  type Entry,
  type Model,
  about,
  at,
  infoOf,
  isSame,
  sizeOf,
  BYTES_TYPE,
  type ModelWrite,
  Refused,
  storedBytes,
} from "./variable-store-model.ts";

/** The store under test. */
export interface Real {
  store: VariableStore;
  /** Recreates the object on what it has stored. */
  readonly wake: () => VariableStore;
  /** Names and versions as an observer knows them from changes. */
  readonly observed: Map<string, number>;
  stop?: () => void;
}

export type Command = fc.AsyncCommand<Model, Real>;

type Run = (model: Model, real: Real) => void | Promise<void>;

/** A command that afterwards compares everything that is cheap to compare. */
function command(text: () => string, run: Run): Command {
  return {
    check: () => true,
    async run(model, real) {
      await run(model, real);
      const { store } = real;
      // As an object does before it may hibernate. The tests of the store say when it has to.
      store.flushAccess();
      expect(store.list().map(about)).toEqual(model.alive.map((entry) => infoOf(model, entry)));
      expect([store.count(), store.bytes()]).toEqual([model.alive.length, model.bytes]);
      expect([store.nextDueMs(), store.runs()]).toEqual([model.nextDueMs, model.runs]);
      const known = model.entries.map(({ name, version }) => [name, version] as const);
      expect(real.observed).toEqual(new Map(known));
    },
    toString: text,
  };
}

/** Records the variables from the changes that the store reports. */
export function observing(real: Real): void {
  real.stop?.();
  real.stop = real.store.observe((change: Change) => {
    const { kind, info } = change;
    const { name, version } = info;
    if (kind === "saved") real.observed.set(name, version);
    else if (kind === "updated") expect(real.observed.get(name)).toBe(version);
    else expect(real.observed.delete(name)).toBe(true);
    // Later changes of the same transaction have been made.
    if (real.store.info(name)?.version === version) expect(real.store.info(name)).toEqual(info);
    if (kind === "evicted" && real.store.info(name) === undefined)
      expect(real.store.tombstone(name)).toEqual(change.tombstone);
  });
}

function contentOf({ value, ...write }: ModelWrite): Write {
  if (!(value instanceof Uint8Array)) return { ...write, value };
  return { ...write, value: bytesContent(value, BYTES_TYPE) };
}

export function saving(write: ModelWrite, shown: () => string): Command {
  return command(shown, async (model, { store }) => {
    const name = typeof write.name === "string" ? write.name : "";
    try {
      const entry = model.save(write);
      expect(about(await store.save(contentOf(write)))).toEqual(infoOf(model, entry));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      await expectCode(() => store.save(contentOf(write)), error.code);
      // A refused write may or may not have read the variable, so both use it now.
      store.open(name)?.close();
      model.use(name);
    }
  });
}

export function reading(name: string): Command {
  return command(
    () => `read ${name}`,
    async (model, { store }) => {
      const entry = model.use(name);
      if (entry?.value instanceof Uint8Array) await expectCode(() => store.read(name), "bad_value");
      else expect(isSame(await store.read(name), entry?.value)).toBe(true);
    },
  );
}

export function readingPath(name: string, path: Path): Command {
  return command(
    () => `read ${name} at ${JSON.stringify(path)}`,
    async (model, { store }) => {
      const entry = model.use(name);
      if (entry === undefined) expect(await store.readPath(name, path)).toBeUndefined();
      else if (entry.value instanceof Uint8Array)
        await expectCode(() => store.readPath(name, path), "bad_value");
      else {
        const value = at(entry.value, path);
        const read = await store.readPath(name, path);
        expect(read?.found).toBe(value !== undefined);
        if (read?.found === true) expect(isSame(read.value, value)).toBe(true);
      }
    },
  );
}

export function opening(name: string, [from, length]: readonly [number, number]): Command {
  return command(
    () => `open ${name}`,
    async (model, { store }) => {
      const entry = model.use(name);
      const open = store.open(name);
      expect(open === undefined).toBe(entry === undefined);
      if (entry === undefined || open === undefined) return;
      // The store may or may not have noted this read yet.
      const { accessedAt: _at, ...known } = about(open.info) ?? { accessedAt: "" };
      expect(infoOf(model, entry)).toMatchObject(known);
      const bytes = storedBytes(entry.value);
      const start = Math.min(from, bytes.length);
      const end = Math.min(start + length, bytes.length);
      expect(bytes.subarray(start, end).equals(await open.read(start, end))).toBe(true);
      open.close();
    },
  );
}

export function looking(name: string): Command {
  return command(
    () => `look at ${name}`,
    (model, { store }) => expectSameOf(name, model, store),
  );
}

export function listing(options: ListOptions): Command {
  return command(
    () => `list ${JSON.stringify(options)}`,
    (model, { store }) => {
      const { last = Infinity, names } = options;
      const entries = model.alive.filter(({ name }) => names?.includes(name) ?? true);
      const expected = entries.slice(Math.max(entries.length - last, 0));
      const listed = store.list(options);
      expect(listed.map(about)).toEqual(expected.map((entry) => infoOf(model, entry)));
      expect(summaryOf(listed, options.last)).toBe(summary(expected, store, options.last));
    },
  );
}

/** The preview is taken from the store, since it has tests of its own. */
function summary(entries: readonly Entry[], store: VariableStore, last?: number): string {
  let text = last === undefined ? "# Variables Summary\n" : `# Last ${last} Variables Summary\n`;
  if (entries.length === 0) text += "\nNo variables.\n";
  for (const { name, value, description, write, createdMs } of entries) {
    const { type, count } = sizeOf(value);
    const result = write.tool === undefined ? "" : `Result of ${write.tool}`;
    const words = (description ?? result).replaceAll(/[\s\p{C}]+/gu, " ").replaceAll("<", "‹");
    text += `\n## ${name}\n\n- Type: ${type}\n- Items: ${count}\n- Description: ${words}\n`;
    text += `- Created: ${iso(createdMs).slice(0, 10)} ${iso(createdMs).slice(11, 19)}\n`;
    text += `- Value Preview: ${store.info(name)?.preview}\n`;
  }
  return text;
}

export function paging(limit: number): Command {
  return command(
    () => `page by ${limit}`,
    (model, { store }) => {
      const names: string[] = [];
      let after: number | undefined;
      do {
        const page = store.page({ limit, ...(after !== undefined && { after }) });
        expect(page.variables.length).toBeLessThanOrEqual(limit);
        names.push(...namesOf(page.variables));
        after = page.next;
      } while (after !== undefined);
      expect(names).toEqual(model.alive.map(({ name }) => name));
    },
  );
}

export function updating(name: string, changes: Changes): Command {
  return command(
    () => `update ${name} ${JSON.stringify(changes)}`,
    (model, { store }) => {
      const entry = model.update(name, changes);
      expect(about(store.update(name, changes))).toEqual(entry && infoOf(model, entry));
    },
  );
}

/** A call that has the same result in the model and in the store. */
export function calling(text: string, call: (either: Model | VariableStore) => unknown): Command {
  return command(
    () => text,
    (model, { store }) => {
      const wanted = call(model);
      expect(call(store)).toEqual(wanted);
    },
  );
}

export function evicting(limit: number): Command {
  return command(
    () => `evict ${limit}`,
    (model, { store }) => {
      const wanted = model.evictDue(limit);
      expect(store.evictDue(model.nowMs, limit)).toEqual(wanted);
    },
  );
}

export function advancing(ms: number): Command {
  return command(
    () => `advance ${ms}`,
    (model) => void (model.nowMs += ms),
  );
}

export function holding(owner: string, name: string): Command {
  return command(
    () => `hold ${name} for ${owner}`,
    (model, { store }) => {
      model.held.push({ owner, name });
      store.holds.hold(owner, name);
    },
  );
}

export function releasing(owner: string): Command {
  return command(
    () => `release ${owner}`,
    (model, { store }) => {
      model.held = model.held.filter((hold) => hold.owner !== owner);
      store.holds.release(owner);
    },
  );
}

export const sweeping = command(
  () => "sweep",
  async (_, { store }) => {
    expect([await store.sweep(), store.hasGarbage()]).toEqual([true, false]);
  },
);

/** After waking, every owner holds its variables again. */
export const waking = command(() => "wake", wake);

/** The same command, by an object that has kept nothing in memory. */
export function afterWaking(inner: Command): Command {
  return {
    check: () => true,
    run: (model, real) => {
      wake(model, real);
      return inner.run(model, real);
    },
    toString: () => inner.toString(),
  };
}

export function wake(model: Model, real: Real): void {
  real.store = real.wake();
  for (const { owner, name } of model.held) real.store.holds.hold(owner, name);
  observing(real);
}

/** Compares the metadata and the tombstone of a name. */
export function expectSameOf(name: string, model: Model, store: VariableStore): void {
  const entry = model.find(name);
  expect(about(store.info(name))).toEqual(entry && infoOf(model, entry));
  expect(store.tombstone(name)).toEqual(model.tombstone(name));
  const glance = store.glance(name);
  expect(glance?.version).toBe(entry?.version);
  expect([glance?.bytes, glance?.chars]).toEqual([
    entry && sizeOf(entry.value).bytes,
    entry && sizeOf(entry.value).chars,
  ]);
  const known = [...model.entries, ...model.graves].map((any) => any.name);
  for (const prefix of [name, name.slice(0, -1)])
    expect(store.couldBegin(prefix)).toBe(known.some((other) => other.startsWith(prefix)));
}
