import { compact } from "../value/json.ts";
import { ByrefError, limitExceeded, requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { type Content, isStored, locationOf, type Stored, storedOf } from "./bytes/content.ts";
import { chooseName, type TakenNames } from "./choose-name.ts";
import { readOnly } from "./computed.ts";
import type { Entry, Row } from "./rows/rows.ts";
import { dueAt, entriesToEvict } from "./eviction.ts";
import { highestNumberIn } from "./names.ts";
import { entryOf, provenanceOf, toIso } from "./metadata.ts";
import type { StoreState } from "./store-state.ts";
import type { VariableRecord, VersionRecord, Write } from "./variable-store.ts";
import { flagged, redacted, strictestVisibility } from "./labels.ts";
import type { VariableInfo } from "./variable.ts";
import { extending, isExtension, keepingMetadata, madeOfAfter, sourcesOf } from "./write-mode.ts";

/** Writes variables whose content is ready. */
export class Writer {
  readonly #state: StoreState;
  readonly #quotaBytes: number;

  constructor(state: StoreState, quotaBytes: number) {
    this.#state = state;
    this.#quotaBytes = quotaBytes;
  }

  /** Writes a variable. Above the quota it evicts others, but none of `kept`. Call it in a transaction. */
  put(given: Write, content: Content, kept: ReadonlySet<string>): VariableInfo {
    const { index, numbers, rows, cache } = this.#state;
    const nowMs = this.#state.now();
    const write = this.#completed(given, nowMs);
    const name = chooseName(write, this.#taken);
    if (this.#state.computed(name) !== undefined) throw readOnly(name);
    const needed = { bytes: content.about.bytes, keeps: this.#keepsVersion(name, write) };
    const keeps = this.#makeRoom(name, needed, kept);
    const before = index.get(name) === undefined ? undefined : rows.stored(name);
    if (before !== undefined) this.#replace(name, before, { keeps });
    const row = this.#rowOf(name, write, { content, nowMs });
    index.put(row);
    this.#state.removeTombstone(name);
    numbers.note(name);
    cache.delete(name);
    if (content.value !== undefined)
      cache.set(name, content.value, Math.max(content.about.bytes, content.about.chars));
    this.#state.queueChange({ kind: "saved", info: row.info });
    return row.info;
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
    if (
      current === undefined ||
      info === undefined ||
      stored === undefined ||
      earlier === undefined
    ) {
      return undefined;
    }
    versions.take(name, earlier.info.version);
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
    const { createdAtMs, run, inputDigest } = current;
    const own = { seq: index.nextSeq(nowMs), createdAtMs, run, inputDigest, nowMs };
    index.put({ entry: entryOf(after, own), info: after, stored: earlier.stored });
    cache.delete(name);
    this.#state.queueChange({ kind: "saved", info: after });
    return after;
  }

  /** Restores a variable from another store. Evicts nothing and calls no observers. Call it in a transaction. */
  restore({ info, run, inputDigest }: VariableRecord, content: Content): VariableInfo {
    const { index, numbers } = this.#state;
    const { name, visibility } = info;
    if (index.get(name) !== undefined) {
      throw new ByrefError("conflict", `The variable ${name} already exists.`);
    }
    this.#requireRoom(content.about.bytes);
    const nowMs = this.#state.now();
    const stored = this.#stored(content);
    const restored: VariableInfo = {
      ...info,
      ...redacted(content.about, visibility),
      ...provenanceOf(info),
      accessedAt: toIso(nowMs),
      scope: run === undefined ? "conversation" : "run",
      location: locationOf(stored.body),
    };
    const createdAtMs = Date.parse(info.createdAt);
    const own = { seq: index.nextSeq(nowMs), createdAtMs, run, inputDigest, nowMs };
    index.put({ entry: entryOf(restored, own), info: restored, stored });
    numbers.note(name);
    return restored;
  }

  /** Restores an earlier version from another store, if there is room. Call it in a transaction. */
  restoreVersion({ info, undone }: VersionRecord, content: Content): void {
    const { index, versions } = this.#state;
    const { bytes } = content.about;
    const hasRoom = index.bytes + versions.bytes + bytes <= this.#quotaBytes;
    if (!hasRoom || index.get(info.name) === undefined) return;
    const stored = this.#stored(content);
    const restored: VariableInfo = {
      ...info,
      ...redacted(content.about, info.visibility),
      accessedAt: info.updatedAt,
      scope: "conversation",
      location: locationOf(stored.body),
    };
    versions.add({ info: restored, stored, isUndone: undone === true });
  }

  #requireRoom(bytes: number): void {
    const actual = this.#state.index.bytes + this.#state.versions.bytes + bytes;
    const advice = "Raise the quota, or take fewer variables.";
    requireAtMost(["maxConversationBytes", this.#quotaBytes], actual, advice);
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

  #rowOf(name: string, write: Write, given: { content: Content; nowMs: number }): Row {
    const { index, tombstones } = this.#state;
    const { content, nowMs } = given;
    const { run } = write;
    const stored = this.#stored(content);
    const previous = index.get(name);
    const createdAtMs = previous?.createdAtMs ?? nowMs;
    const visibility = write.visibility ?? previous?.visibility ?? "model";
    const expiresAtMs = dueAt(write, nowMs);
    const info: VariableInfo = {
      name,
      version: 1 + (previous?.version ?? tombstones.get(name)?.version ?? 0),
      ...redacted(content.about, visibility),
      ...provenanceOf(write),
      createdAt: toIso(createdAtMs),
      updatedAt: toIso(nowMs),
      accessedAt: toIso(nowMs),
      ...(expiresAtMs === undefined ? {} : { expiresAt: toIso(expiresAtMs) }),
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
    const own = { seq: index.nextSeq(nowMs), createdAtMs, run, inputDigest, nowMs };
    return { entry: entryOf(info, own), info, stored };
  }

  /** Stores the body in the row if it fits, else in chunk rows. A body that is stored already is claimed. */
  #stored(content: Content): Stored {
    const { bodies } = this.#state;
    const stored = storedOf(content);
    const { body, bytes } = stored;
    if (isStored(body)) bodies.claim(body);
    else if (bytes > limits.maxRowBytes) return { ...stored, body: bodies.toChunks(body) };
    return stored;
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
    const { index, versions } = this.#state;
    const maximum = this.#quotaBytes;
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

  /** The names of variables and of evicted variables. */
  get #taken(): TakenNames {
    const { index, tombstones, numbers } = this.#state;
    return {
      has: (name) =>
        index.get(name) !== undefined ||
        tombstones.has(name) ||
        this.#state.computed(name) !== undefined,
      ofCall: (call) => {
        const evicted = [...tombstones.values()].filter(
          ({ tool, inputDigest }) => tool === call.tool && inputDigest === call.inputDigest,
        );
        return [...index.ofCall(call), ...evicted].map(({ name }) => name);
      },
      highestNumber: (base, ending) => {
        if (ending === "") return numbers.highest(base);
        const names = [...index.ofRuns().map(({ name }) => name), ...tombstones.keys()];
        return highestNumberIn(names, base, ending);
      },
    };
  }
}

interface Needed {
  readonly bytes: number;
  /** True if the current value is kept as an earlier version. */
  readonly keeps: boolean;
}
