import { compact } from "../value/json.ts";
import { limitExceeded } from "../errors.ts";
import { type Content, locationOf, type Stored } from "./bytes/content.ts";
import type { Entry } from "./rows/rows.ts";
import {
  automaticBase,
  highestNumberIn,
  MAX_BASE_CHARS,
  readOnly,
  requireName,
  splitNumber,
} from "./names.ts";
import { expiryOf, provenanceOf, toIso } from "./metadata.ts";
import type { StoreState } from "./store-state.ts";
import type { Write } from "./variable-store.ts";
import { flagged, redacted, strictestVisibility } from "./labels.ts";
import type { VariableInfo } from "./variable.ts";
import { extending, isExtension, keepingMetadata, madeOfAfter, sourcesOf } from "./write-mode.ts";

/** Writes variables whose content is ready. */
export class Writer {
  readonly #state: StoreState;

  constructor(state: StoreState) {
    this.#state = state;
  }

  /** Writes a variable. Above the quota it evicts others, but none of `kept`. Call it in a transaction. */
  put(given: Write, content: Content, kept: ReadonlySet<string>): VariableInfo {
    const { index, numbers, rows, cache } = this.#state;
    const nowMs = this.#state.now();
    const write = this.#completed(given, nowMs);
    const name = chooseName(write, this.#state);
    if (this.#state.computed(name) !== undefined) throw readOnly(name);
    const needed = { bytes: content.about.bytes, keeps: this.#keepsVersion(name, write) };
    const keeps = this.#makeRoom(name, needed, kept);
    const before = index.get(name) === undefined ? undefined : rows.stored(name);
    if (before !== undefined) this.#replace(name, before, { keeps });
    const info = this.#write(name, write, { content, nowMs });
    this.#state.removeTombstone(name);
    numbers.note(name);
    cache.delete(name);
    if (content.value !== undefined)
      cache.set(name, content.value, Math.max(content.about.bytes, content.about.chars));
    this.#state.queueChange({ kind: "saved", info });
    return info;
  }

  /**
   * Restores the newest earlier version that was not undone, with the stricter visibility of both. Returns
   * undefined if there is none. Call it in a transaction.
   */
  undo(name: string): VariableInfo | undefined {
    const { index, versions, rows, cache } = this.#state;
    const current = index.get(name);
    const info = this.#state.info(name);
    const stored = rows.stored(name);
    const earlier = versions.undoable(name);
    if (!(current && info && stored && earlier)) return undefined;
    // Its body belongs to the variable again.
    rows.versions.remove(name, earlier.info.version);
    versions.add({ info, stored, isUndone: true });
    const nowMs = this.#state.now();
    const { pinned, expiresAt, createdAt, scope } = info;
    const { expiresAt: _, ...restored } = earlier.info;
    const now = toIso(nowMs);
    const after: VariableInfo = {
      ...restored,
      version: current.version + 1,
      createdAt,
      updatedAt: now,
      accessedAt: now,
      pinned,
      scope,
      visibility: strictestVisibility([info.visibility, earlier.info.visibility]),
      ...compact({ expiresAt }),
    };
    index.put(after, earlier.stored, { ...current, nowMs });
    cache.delete(name);
    this.#state.queueChange({ kind: "saved", info: after });
    return after;
  }

  /** Completes the write with the metadata that it keeps from the existing variable. */
  #completed(write: Write, nowMs: number): Write {
    const isExtending = isExtension(write);
    if (!isExtending && write.keepsMetadata !== true) return write;
    const entry = this.#state.alive(String(write.name));
    const existing = entry === undefined ? undefined : this.#state.info(entry.name);
    if (existing === undefined) return write;
    if (!isExtending) return keepingMetadata(write, existing, nowMs);
    // The variable keeps its scope: a run that extends a conversation's variable does not take it over.
    const { run: _, ...extended } = extending(write, existing, nowMs);
    return entry?.run === undefined ? extended : { ...extended, run: entry.run };
  }

  #write(name: string, write: Write, given: { content: Content; nowMs: number }): VariableInfo {
    const { bodies, index, tombstones } = this.#state;
    const { content, nowMs } = given;
    const { run } = write;
    const stored = bodies.place(content);
    const previous = index.get(name);
    const createdAtMs = previous?.createdAtMs ?? nowMs;
    const visibility = write.visibility ?? previous?.visibility ?? "model";
    const expiresAt = expiryOf(write.ttlMs, nowMs);
    const info: VariableInfo = {
      name,
      version: 1 + (previous?.version ?? tombstones.get(name)?.version ?? 0),
      ...redacted(content.about, visibility),
      ...provenanceOf(write),
      createdAt: toIso(createdAtMs),
      updatedAt: toIso(nowMs),
      accessedAt: toIso(nowMs),
      ...compact({ expiresAt }),
      pinned: write.pinned ?? false,
      scope: run === undefined ? "conversation" : "run",
      visibility,
      sources: [...sourcesOf(write)],
      trusted: write.trusted ?? true,
      ...flagged(write.flags),
      ...madeOfAfter(write, name, previous),
      location: locationOf(stored.body),
    };
    const inputDigest = typeof write.name === "object" ? write.name.inputDigest : undefined;
    index.put(info, stored, { createdAtMs, run, inputDigest, nowMs });
    return info;
  }

  /** True if the write requests it, and the current value may be read later. */
  #keepsVersion(name: string, { keepsVersion = false, visibility }: Write): boolean {
    const current = keepsVersion ? this.#state.alive(name) : undefined;
    return current !== undefined && current.visibility !== "secret" && visibility !== "secret";
  }

  /** Keeps the current value as an earlier version, or releases it with all earlier versions. */
  #replace(name: string, stored: Stored, { keeps }: { readonly keeps: boolean }): void {
    const { bodies, versions } = this.#state;
    const info = keeps ? this.#state.info(name) : undefined;
    if (info !== undefined) return versions.add({ info, stored, isUndone: false });
    bodies.release(stored.body);
    versions.dropAll(name);
  }

  /**
   * Makes room for a value under the name: drops earlier versions, then evicts other variables. Throws before
   * it evicts anything. Returns true if the value that is replaced can be kept, too.
   */
  #makeRoom(name: string, { bytes, keeps }: Needed, kept: ReadonlySet<string>): boolean {
    const { index, versions, quotaBytes: maximum } = this.#state;
    const before = index.get(name)?.bytes ?? 0;
    const actual = index.bytes - before + bytes;
    versions.makeRoom(actual + (keeps ? before : 0) + versions.bytes - maximum);
    if (actual <= maximum) return keeps && actual + before + versions.bytes <= maximum;
    const nowMs = this.#state.now();
    const isDue = (entry: Entry) => this.#state.isDue(entry, nowMs);
    const others = index
      .values()
      .filter(
        (entry) => entry.name !== name && !kept.has(entry.name) && this.#state.isEvictable(entry),
      );
    const evicted = entriesToEvict(others, { bytes: actual - maximum, isDue });
    if (bytes > maximum || evicted === undefined) {
      const advice = "Delete variables, or unpin some, and try again.";
      throw limitExceeded("maxConversationBytes", { maximum, actual, advice });
    }
    this.#state.evict(evicted, (entry) => (isDue(entry) ? this.#state.dueReason(entry) : "quota"));
    return false;
  }
}

/**
 * Chooses the name under which a value is saved. A repeated call of the same tool gets its previous name,
 * and so a new version. Another call whose name is taken gets the next unused number. A variable of a run
 * has the run id as a suffix, and a base that is unique without it, because the run refers to the variable
 * by the base.
 */
function chooseName(
  write: Pick<Write, "name" | "tool" | "mode" | "run">,
  state: StoreState,
): string {
  const { name = { base: "variable", numbered: true, inputDigest: "" }, tool } = write;
  const { index, tombstones, numbers } = state;
  if (typeof name === "string") {
    requireName(name);
    if (write.mode !== "new") return name;
    // The first of `name_000`, `name_001` … above every used number.
    const number = String(numbers.highest(name) + 1).padStart(3, "0");
    return requireName(`${name}_${number}`);
  }
  const ending = write.run === undefined ? "" : `_${write.run}`;
  const base = automaticBase(name.base).slice(0, Math.max(MAX_BASE_CHARS - ending.length, 1));
  const same = [...index.values(), ...tombstones.values()].find(
    (one) =>
      tool !== undefined &&
      one.tool === tool &&
      one.inputDigest === name.inputDigest &&
      isOf(base, one.name, ending),
  );
  if (same !== undefined) return same.name;
  const isTaken = (one: string) =>
    index.get(one) !== undefined || tombstones.has(one) || state.computed(one) !== undefined;
  if (!name.numbered && !isTaken(base) && !isTaken(base + ending)) return `${base}${ending}`;
  // The name without a number counts as the first, so the next one is `_2`.
  let highest = Math.max(name.numbered ? 0 : 1, numbers.highest(base));
  if (ending !== "") {
    const names = [...index.ofRuns().map((entry) => entry.name), ...tombstones.keys()];
    highest = Math.max(highest, highestNumberIn(names, base, ending));
  }
  // A caller may have chosen a name with this run's suffix.
  while (isTaken(`${base}_${highest + 1}${ending}`)) highest++;
  return `${base}_${highest + 1}${ending}`;
}

/** True if the name is the base, with or without a number, followed by the ending. */
function isOf(base: string, name: string, ending: string): boolean {
  if (!name.endsWith(ending)) return false;
  const stem = name.slice(0, name.length - ending.length);
  return stem === base || splitNumber(stem)?.base === base;
}

interface Needed {
  readonly bytes: number;
  /** True if the current value is kept as an earlier version. */
  readonly keeps: boolean;
}

/**
 * Selects entries to evict so that `bytes` become free; undefined if all of them are not enough. Expired
 * entries come first, because readers can no longer see them; then the least recently used.
 */
function entriesToEvict(
  entries: readonly Entry[],
  { bytes, isDue }: { readonly bytes: number; readonly isDue: (entry: Entry) => boolean },
): readonly Entry[] | undefined {
  const ordered = entries.toSorted(
    (one, other) =>
      Number(isDue(other)) - Number(isDue(one)) ||
      one.accessedAtMs - other.accessedAtMs ||
      one.seq - other.seq,
  );
  let free = 0;
  for (const [index, entry] of ordered.entries()) {
    free += entry.bytes;
    if (free >= bytes) return ordered.slice(0, index + 1);
  }
  return undefined;
}
