import { limits } from "../limits.ts";
import type { Json } from "../value/json.ts";
import { chooseName, type Sibling, UsedNumbers } from "./choose-name.ts";
import { describeValue } from "./described.ts";
import {
  changed,
  dueAt,
  forgottenNames,
  provenanceOf,
  toIso,
  tombstoneOf,
  wholeCount,
} from "./provenance.ts";
import { extending, isExtension, valueAfter } from "./write-mode.ts";
import type {
  Changes,
  ListOptions,
  Tombstone,
  VariableInfo,
  VariableStore,
  Write,
} from "./variable-store.ts";

interface Entry {
  readonly info: VariableInfo;
  readonly value: Json;
  readonly inputDigest: string | undefined;
  readonly expiresAtMs: number | undefined;
}

/** Variables in this process's memory, gone with it: for Node, for tests, for `withToolVariables`. */
export class MemoryStore implements VariableStore {
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #entries = new Map<string, Entry>();
  readonly #tombstones = new Map<string, Tombstone>();
  readonly #numbers = new UsedNumbers();
  readonly #now: () => number;

  constructor({ now = Date.now }: { readonly now?: () => number } = {}) {
    this.#now = now;
  }

  save(given: Write): VariableInfo {
    const now = this.#now();
    const extended = isExtension(given) ? this.info(String(given.name)) : undefined;
    const write = extended === undefined ? given : extending(given, extended, now);
    const name = chooseName(
      write,
      (base) => this.#siblings(base),
      (base) => this.#numbers.highest(base),
    );
    const { mode = "replace" } = write;
    const { value, about } = describeValue(valueAfter(mode, this.read(name), write.value));
    const previous = this.#entries.get(name);
    const expiresAtMs = dueAt(write, now);
    const info: VariableInfo = {
      name,
      version: 1 + (previous?.info.version ?? this.#tombstones.get(name)?.version ?? 0),
      ...about,
      ...provenanceOf(write),
      createdAt: previous?.info.createdAt ?? toIso(now),
      updatedAt: toIso(now),
      ...(expiresAtMs === undefined ? {} : { expiresAt: toIso(expiresAtMs) }),
      pinned: write.pinned ?? false,
      visibility: "model",
      location: about.bytes > limits.maxRowBytes ? "chunks" : "row",
    };
    const inputDigest = typeof write.name === "object" ? write.name.inputDigest : undefined;
    this.#entries.delete(name);
    this.#entries.set(name, { info, value, inputDigest, expiresAtMs });
    this.#tombstones.delete(name);
    this.#numbers.note(name);
    return info;
  }

  update(name: string, changes: Changes): VariableInfo | undefined {
    const entry = this.#entry(name);
    if (entry === undefined) return undefined;
    const info = changed(entry.info, changes, this.#now());
    const expiresAtMs = info.expiresAt === undefined ? undefined : Date.parse(info.expiresAt);
    // Setting a key that is there keeps its place.
    this.#entries.set(name, { ...entry, info, expiresAtMs });
    return info;
  }

  read(name: string): Json | undefined {
    return this.#entry(name)?.value;
  }

  info(name: string): VariableInfo | undefined {
    return this.#entry(name)?.info;
  }

  tombstone(name: string): Tombstone | undefined {
    const entry = this.#entries.get(name);
    return entry !== undefined && this.#isDue(entry)
      ? tombstoneOf(entry.info, entry.inputDigest)
      : this.#tombstones.get(name);
  }

  list({ last, names }: ListOptions = {}): readonly VariableInfo[] {
    const infos = [...this.#entries.values()]
      .filter((entry) => !this.#isDue(entry))
      .map((entry) => entry.info)
      .filter((info) => names === undefined || names.includes(info.name));
    return last === undefined ? infos : infos.slice(Math.max(infos.length - wholeCount(last), 0));
  }

  count(): number {
    return this.list().length;
  }

  couldBegin(prefix: string): boolean {
    for (const name of this.#entries.keys()) if (name.startsWith(prefix)) return true;
    for (const name of this.#tombstones.keys()) if (name.startsWith(prefix)) return true;
    return false;
  }

  delete(name: string): boolean {
    const existed = this.#entry(name) !== undefined;
    this.#tombstones.delete(name);
    this.#entries.delete(name);
    return existed;
  }

  reset(keepLast: number): readonly string[] {
    const names = forgottenNames(this.list(), keepLast);
    for (const name of names) this.delete(name);
    return names;
  }

  evictExpired(nowMs: number, limit: number): readonly Tombstone[] {
    const due = [...this.#entries.values()]
      .filter((entry) => isDueAt(entry, nowMs))
      .slice(0, wholeCount(limit));
    const tombstones = due.map(({ info, inputDigest }) => tombstoneOf(info, inputDigest));
    for (const tombstone of tombstones) {
      this.#entries.delete(tombstone.name);
      this.#tombstones.set(tombstone.name, tombstone);
    }
    for (const oldest of this.#tombstones.keys()) {
      if (this.#tombstones.size <= limits.maxTombstones) break;
      this.#tombstones.delete(oldest);
    }
    return tombstones;
  }

  nextDueMs(): number | undefined {
    const due = [...this.#entries.values()].flatMap(({ expiresAtMs }) => expiresAtMs ?? []);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  #entry(name: string): Entry | undefined {
    const entry = this.#entries.get(name);
    return entry === undefined || this.#isDue(entry) ? undefined : entry;
  }

  #isDue(entry: Entry): boolean {
    return isDueAt(entry, this.#now());
  }

  #siblings(base: string): readonly Sibling[] {
    const living = Array.from(this.#entries.values(), ({ info, inputDigest }) => ({
      name: info.name,
      tool: info.tool,
      inputDigest,
    }));
    const evicted = Array.from(this.#tombstones.values(), ({ name, tool, inputDigest }) => ({
      name,
      tool,
      inputDigest,
    }));
    return [...living, ...evicted].filter(({ name }) => name.startsWith(base));
  }
}

function isDueAt({ expiresAtMs }: Entry, nowMs: number): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}
