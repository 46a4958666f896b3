import { ByrefError, limitExceeded } from "../errors.ts";
import { compact, type Json } from "../value/json.ts";
import { valueIn } from "../value/path.ts";
import {
  Content,
  isOfLines,
  isStored,
  jsonContent,
  locationOf,
  RECORDS_TYPE,
  type Stored,
  type StoredBody,
  storedOf,
} from "./bytes/content.ts";
import { joinedLines, receive } from "./bytes/receive.ts";
import { StoredValue } from "./bytes/read-part.ts";
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
import { retryConflicts } from "./retry-conflicts.ts";
import type { StoreState } from "./store-state.ts";
import type { Write } from "./variable-store.ts";
import { flagged, redacted, strictestVisibility } from "./labels.ts";
import type { VariableInfo } from "./variable.ts";
import {
  extending,
  isExtension,
  keepingMetadata,
  madeOfAfter,
  sourcesOf,
  valueWithin,
} from "./write-mode.ts";

/**
 * Writes that commit together. Each write sees the values of the writes before it. `prepare` does the
 * asynchronous work, `commit` is synchronous. Bytes stored for the batch are protected from the sweep until
 * it is settled.
 */
export class Batch {
  readonly #state: StoreState;
  readonly #writes: readonly Write[];
  readonly #drafts: Draft[] = [];
  readonly #inUse: StoredBody[] = [];

  constructor(writes: readonly Write[], state: StoreState) {
    this.#state = state;
    this.#writes = writes;
    for (const { value } of writes) if (value instanceof Content) this.#keep(value);
  }

  /** Does the asynchronous work. Settles the batch if it rejects. */
  async prepare(): Promise<void> {
    try {
      for (const [index, write] of this.#writes.entries())
        this.#drafts[index] = await this.#draft(write, index);
    } catch (error) {
      this.settle();
      throw error;
    }
  }

  /** Saves all writes or none. Always settles the batch. */
  commit(): readonly VariableInfo[] {
    try {
      return this.#commit();
    } finally {
      this.settle();
    }
  }

  /** Prepares and commits, and repeats this if another write to the store commits first. Always settles the batch. */
  async save(store: object): Promise<readonly VariableInfo[]> {
    try {
      return await retryConflicts(store, async () => {
        await this.prepare();
        return this.#commit();
      });
    } finally {
      this.settle();
    }
  }

  /** Releases stored bytes that belong to no variable to the sweep. Idempotent. */
  settle(): void {
    for (const body of this.#inUse.splice(0)) this.#state.bodies.drop(body);
  }

  /** Protects stored bytes from the sweep until the batch is settled. */
  #keep({ body }: Content): void {
    if (!isStored(body)) return;
    this.#state.bodies.keep(body);
    this.#inUse.push(body);
  }

  #commit(): readonly VariableInfo[] {
    const state = this.#state;
    return state.atomically(() => {
      // Variables that the batch writes or extends are not evicted to make room for the rest of it.
      const kept = new Set(this.#writes.filter(isExtension).map(({ name }) => String(name)));
      return this.#drafts.map(({ write, content, after }) => {
        if (isExtension(write) && after !== "batch") {
          const name = String(write.name);
          const message = `${name} changed while it was extended; try again.`;
          if (state.alive(name)?.seq !== after) throw new ByrefError("conflict", message);
        }
        const info = putVariable(state, { write, content, kept });
        kept.add(info.name);
        return info;
      });
    });
  }

  async #draft(write: Write, index: number): Promise<Draft> {
    const draft = this.#drafts[index];
    // Only writes that depend on a changed value are prepared again.
    if (draft !== undefined && !isExtension(write)) return draft;
    requireTarget(write);
    const { bodies } = this.#state;
    const base = isExtension(write) ? this.#base(write, index) : undefined;
    const content = await bodies.toBucket(await this.#contentOf(write, base));
    this.#keep(content);
    return { write, content, after: base?.after };
  }

  /** Creates the content to store. Rejects with `bad_value`, `bad_path` or `limit_exceeded`. */
  async #contentOf(write: Write, base: Base | undefined): Promise<Content> {
    const { value, path = [], mode = "replace" } = write;
    if (!(value instanceof Content)) {
      if (!isExtension(write)) return jsonContent(value);
      return jsonContent(valueWithin(await base?.value(), path, { mode, value }));
    }
    const isWhole = path.length === 0;
    if (isWhole && (mode === "replace" || mode === "new" || base === undefined)) return value;
    if (value.about.type === "bytes") {
      throw new ByrefError("bad_value", "Bytes can only replace a value; use mode=replace.");
    }
    const isAddition = isWhole && mode === "append" && isOfLines(storedOf(value));
    const records = isAddition ? base?.stored() : undefined;
    if (records !== undefined && isOfLines(records)) return this.#joined(records, value);
    const added = await this.#valueOf({ write, content: value });
    return jsonContent(valueWithin(await base?.value(), path, { mode, value: added }));
  }

  /** Adds records to others, as NDJSON, without reading them as values. */
  async #joined(records: Stored, added: Content): Promise<Content> {
    const { bodies } = this.#state;
    const linesOf = (stored: Stored) => new StoredValue(stored, this.#state).ndjson();
    const release = bodies.hold(records.body);
    try {
      const lines = joinedLines(linesOf(records), linesOf(storedOf(added)));
      return await receive(lines, RECORDS_TYPE, bodies);
    } finally {
      release();
    }
  }

  /** Returns what the write extends: an earlier write of the batch, or the variable's current value. */
  #base({ name }: Write, index: number): Base | undefined {
    const earlier = this.#drafts
      .slice(0, index)
      .findLast(({ write }) => write.name === name && write.mode !== "new");
    if (earlier !== undefined) {
      const stored = () => storedOf(earlier.content);
      return { after: "batch", stored, value: () => this.#valueOf(earlier) };
    }
    const state = this.#state;
    const entry = state.alive(String(name));
    return (
      entry && {
        after: entry.seq,
        stored: () => state.rows.stored(entry.name),
        // Does not count as an access: a rejected write leaves no trace.
        value: async () => valueIn(await state.readPath(entry, [])),
      }
    );
  }

  async #valueOf({ write, content }: Omit<Draft, "after">): Promise<Json> {
    return (
      content.value ?? new StoredValue(storedOf(content), this.#state).whole(String(write.name))
    );
  }
}

/** A write whose content is ready. */
interface Draft {
  readonly write: Write;
  readonly content: Content;
  /** The write whose value an extension contains: a stored one by its seq, or one before it in the batch. */
  readonly after: number | "batch" | undefined;
}

/** What a write extends. */
interface Base {
  readonly after: number | "batch";
  readonly stored: () => Stored | undefined;
  readonly value: () => Promise<Json | undefined>;
}

function requireTarget({ name, path = [], mode }: Write): void {
  if (typeof name === "string") requireName(name);
  if (path.length === 0 || (typeof name === "string" && mode !== "new")) return;
  throw new ByrefError("bad_value", "A path cannot be combined with mode=new.");
}

/** Returns the result of a batch with one write. */
export function only(infos: readonly VariableInfo[]): VariableInfo {
  const [info] = infos;
  if (info === undefined) throw new ByrefError("internal", "One write has one result.");
  return info;
}

/** A write whose content is ready. It may evict others, but none of `kept`. */
interface ReadyWrite {
  readonly write: Write;
  readonly content: Content;
  readonly kept: ReadonlySet<string>;
}

/** Writes a variable. Above the quota it evicts others. Call it in a transaction. */
function putVariable(state: StoreState, ready: ReadyWrite): VariableInfo {
  const { index, rows, cache, versions, bodies } = state;
  const { content } = ready;
  const { about, value } = content;
  const nowMs = state.now();
  const write = completed(ready.write, state, nowMs);
  const name = chooseName(write, state);
  if (state.computed(name) !== undefined) throw readOnly(name);
  const keeps = makeRoom(name, { ...ready, write }, state);
  const previous = index.get(name);
  const replaced = previous && rows.stored(name);
  const before = keeps ? index.info(name) : undefined;
  if (replaced !== undefined && before !== undefined) {
    versions.add({ info: before, stored: replaced, isUndone: false });
  } else if (replaced !== undefined) {
    bodies.release(replaced.body);
    versions.drop(versions.of(name));
  }
  const stored = bodies.place(content);
  const visibility = write.visibility ?? previous?.visibility ?? "model";
  const now = toIso(nowMs);
  const info: VariableInfo = {
    name,
    version: 1 + (previous ?? index.tombstones.get(name) ?? { version: 0 }).version,
    ...redacted(about, visibility),
    ...provenanceOf(write),
    createdAt: previous === undefined ? now : toIso(previous.createdAtMs),
    updatedAt: now,
    accessedAt: now,
    ...compact({ expiresAt: expiryOf(write.ttlMs, nowMs) }),
    pinned: write.pinned ?? false,
    scope: write.run === undefined ? "conversation" : "run",
    visibility,
    sources: [...sourcesOf(write)],
    trusted: write.trusted ?? true,
    ...flagged(write.flags),
    ...madeOfAfter(write, name, previous),
    location: locationOf(stored.body),
  };
  const inputDigest = typeof write.name === "object" ? write.name.inputDigest : undefined;
  index.put(info, stored, { run: write.run, inputDigest });
  index.removeTombstone(name);
  cache.delete(name);
  if (value !== undefined) cache.set(name, value, Math.max(about.bytes, about.chars));
  state.queueChange({ kind: "saved", info });
  return info;
}

/**
 * Restores the newest earlier version that was not undone, with the stricter visibility of both. Returns
 * undefined if there is none. Call it in a transaction.
 */
export function undoWrite(name: string, state: StoreState): VariableInfo | undefined {
  const { index, versions, rows, cache } = state;
  const current = index.get(name);
  const info = index.info(name);
  const stored = rows.stored(name);
  const earlier = versions.undoable(name);
  if (!(current && info && stored && earlier)) return undefined;
  versions.take(earlier);
  versions.add({ info, stored, isUndone: true });
  const { pinned, expiresAt, createdAt, scope } = info;
  const { expiresAt: _, ...restored } = earlier.info;
  const now = toIso(state.now());
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
  index.put(after, earlier.stored, current);
  cache.delete(name);
  state.queueChange({ kind: "saved", info: after });
  return after;
}

/** Completes the write with the metadata that it keeps from the existing variable. */
function completed(write: Write, state: StoreState, nowMs: number): Write {
  const isExtending = isExtension(write);
  if (!isExtending && write.keepsMetadata !== true) return write;
  const entry = state.alive(String(write.name));
  const existing = entry && state.index.info(entry.name);
  if (existing === undefined) return write;
  if (!isExtending) return keepingMetadata(write, existing, nowMs);
  // The variable keeps its scope: a run that extends a conversation's variable does not take it over.
  const { run: _, ...extended } = extending(write, existing, nowMs);
  return entry?.run === undefined ? extended : { ...extended, run: entry.run };
}

/**
 * Makes room for a value under the name: drops earlier versions, then evicts other variables. Throws before
 * it evicts anything. Returns true if the value that is replaced is kept: the write requests it, it may be read
 * later, and there is room for both.
 */
function makeRoom(name: string, { write, content, kept }: ReadyWrite, state: StoreState): boolean {
  const { index, versions, quotaBytes: maximum } = state;
  const { bytes } = content.about;
  const before = index.get(name)?.bytes ?? 0;
  const current = write.keepsVersion === true ? state.alive(name) : undefined;
  const isSecret = current?.visibility === "secret" || write.visibility === "secret";
  const keeps = current !== undefined && !isSecret;
  const actual = index.bytes - before + bytes;
  versions.makeRoom(actual + (keeps ? before : 0) + versions.bytes - maximum);
  if (actual <= maximum) return keeps && actual + before + versions.bytes <= maximum;
  const nowMs = state.now();
  const isDue = (entry: Entry) => state.isDue(entry, nowMs);
  const isFree = (entry: Entry) =>
    entry.name !== name && !kept.has(entry.name) && state.isEvictable(entry);
  const evicted = entriesToEvict(index.values().filter(isFree), actual - maximum, isDue);
  if (bytes > maximum || evicted === undefined) {
    const advice = "Delete variables, or unpin some, and try again.";
    throw limitExceeded("maxConversationBytes", { maximum, actual, advice });
  }
  state.remove(evicted, (entry) => (isDue(entry) ? state.dueReason(entry) : "quota"));
  return false;
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
  const { index } = state;
  if (typeof name === "string") {
    requireName(name);
    if (write.mode !== "new") return name;
    // The first of `name_000`, `name_001` … above every used number.
    const number = String(index.highestNumber(name) + 1).padStart(3, "0");
    return requireName(`${name}_${number}`);
  }
  const ending = write.run === undefined ? "" : `_${write.run}`;
  const base = automaticBase(name.base).slice(0, Math.max(MAX_BASE_CHARS - ending.length, 1));
  const same = [...index.values(), ...index.tombstones.values()].find(
    (one) =>
      tool !== undefined &&
      one.tool === tool &&
      one.inputDigest === name.inputDigest &&
      isOf(base, one.name, ending),
  );
  if (same !== undefined) return same.name;
  const isTaken = (one: string) =>
    index.get(one) !== undefined || index.tombstones.has(one) || state.computed(one) !== undefined;
  if (!name.numbered && !isTaken(base) && !isTaken(base + ending)) return `${base}${ending}`;
  // The name without a number counts as the first, so the next one is `_2`.
  let highest = Math.max(name.numbered ? 0 : 1, index.highestNumber(base));
  if (ending !== "") {
    const names = [...index.ofRuns().map((entry) => entry.name), ...index.tombstones.keys()];
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

/**
 * Selects entries to evict so that `bytes` become free; undefined if all of them are not enough. Expired
 * entries come first, because readers can no longer see them; then the least recently used.
 */
function entriesToEvict(
  entries: readonly Entry[],
  bytes: number,
  isDue: (entry: Entry) => boolean,
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
