import { ByrefError, limitExceeded } from "../errors.ts";
import * as limits from "../limits.ts";
import { type Content, isStored } from "./bytes/content.ts";
import { chooseName, type TakenNames } from "./choose-name.ts";
import type { Entry, Row, Stored } from "./rows/rows.ts";
import { dueAt, firstToGo } from "./eviction.ts";
import { highestNumberIn } from "./names.ts";
import { provenanceOf, toIso } from "./metadata.ts";
import type { StoreState } from "./store-state.ts";
import type { VariableRecord, Write } from "./variable-store.ts";
import { flagged, guarded } from "./labels.ts";
import type { VariableInfo } from "./variable.ts";
import { extending, isExtension, keepingMetadata, sourcesOf } from "./write-mode.ts";

/** Writes variables whose content is ready. */
export class Writer {
  readonly #state: StoreState;
  readonly #quotaBytes: number;

  constructor(state: StoreState, quotaBytes: number) {
    this.#state = state;
    this.#quotaBytes = quotaBytes;
  }

  /** In a transaction. Over quota others give way, but none of those that are `kept`. */
  put(given: Write, content: Content, kept: ReadonlySet<string>): VariableInfo {
    const { catalog, numbers, bodies, rows, cache } = this.#state;
    const nowMs = this.#state.now();
    const write = this.#completed(given, nowMs);
    const name = chooseName(write, this.#taken);
    this.#makeRoom(name, content.about.bytes, kept);
    const before = catalog.get(name) === undefined ? undefined : rows.stored(name);
    if (before !== undefined) bodies.release(before.body);
    const row = this.#rowOf(name, write, { content, nowMs });
    catalog.put(row.entry);
    rows.put(row);
    this.#state.unbury(name);
    numbers.note(name);
    cache.delete(name);
    if (content.value !== undefined) cache.set(name, content.value, content.about.bytes);
    this.#state.tell({ kind: "saved", info: row.info });
    return row.info;
  }

  /** In a transaction: a variable as it was elsewhere. Nothing gives way to it, and nobody is told. */
  restore({ info, run, inputDigest }: VariableRecord, content: Content): VariableInfo {
    const { catalog, numbers, rows } = this.#state;
    const { name, version, visibility, flags, pinned, tool } = info;
    if (catalog.get(name) !== undefined) {
      throw new ByrefError("conflict", `There is a variable ${name} already.`);
    }
    this.#requireRoom(content.about.bytes);
    const nowMs = this.#state.now();
    const stored = this.#stored(content);
    const entry: Entry = {
      name,
      seq: catalog.nextSeq(nowMs),
      version,
      ...sizesOf(content),
      createdAtMs: Date.parse(info.createdAt),
      accessedAtMs: nowMs,
      writtenAccessMs: nowMs,
      expiresAtMs: info.expiresAt === undefined ? undefined : Date.parse(info.expiresAt),
      pinned,
      visibility,
      ...flagged(flags),
      run,
      tool,
      inputDigest,
    };
    const restored: VariableInfo = {
      ...info,
      ...guarded(content.about, visibility),
      ...provenanceOf(info),
      accessedAt: toIso(nowMs),
      scope: run === undefined ? "conversation" : "run",
      location: isStored(stored.body) ? stored.body.location : "row",
    };
    catalog.put(entry);
    rows.put({ entry, info: restored, stored });
    numbers.note(name);
    return restored;
  }

  #requireRoom(bytes: number): void {
    const maximum = this.#quotaBytes;
    const actual = this.#state.catalog.bytes + bytes;
    if (actual <= maximum) return;
    const advice = "Raise the quota, or take fewer variables.";
    throw limitExceeded("maxConversationBytes", { maximum, actual, advice });
  }

  /** The write, completed by what it keeps of the existing variable. */
  #completed(write: Write, nowMs: number): Write {
    const isExtending = isExtension(write);
    if (!isExtending && write.keepsMetadata !== true) return write;
    const entry = this.#state.alive(String(write.name));
    const existing = entry === undefined ? undefined : this.#state.info(entry.name);
    if (existing === undefined) return write;
    if (!isExtending) return keepingMetadata(write, existing, nowMs);
    // It stays whose it was: the conversation's does not become a run's by what is added to it.
    const { run: _, ...extended } = extending(write, existing, nowMs);
    return entry?.run === undefined ? extended : { ...extended, run: entry.run };
  }

  #rowOf(name: string, write: Write, given: { content: Content; nowMs: number }): Row {
    const { content, nowMs } = given;
    const stored = this.#stored(content);
    const entry = this.#entryOf(name, write, { ...content.about, nowMs });
    const { createdAtMs, accessedAtMs, expiresAtMs, visibility } = entry;
    const info: VariableInfo = {
      name,
      version: entry.version,
      ...guarded(content.about, visibility),
      ...provenanceOf(write),
      createdAt: toIso(createdAtMs),
      updatedAt: toIso(accessedAtMs),
      accessedAt: toIso(accessedAtMs),
      ...(expiresAtMs === undefined ? {} : { expiresAt: toIso(expiresAtMs) }),
      pinned: entry.pinned,
      scope: entry.run === undefined ? "conversation" : "run",
      visibility,
      sources: [...sourcesOf(write)],
      trusted: write.trusted ?? true,
      ...flagged(write.flags),
      location: isStored(stored.body) ? stored.body.location : "row",
    };
    return { entry, info, stored };
  }

  #entryOf(
    name: string,
    write: Write,
    about: Content["about"] & { readonly nowMs: number },
  ): Entry {
    const { catalog, tombstones } = this.#state;
    const previous = catalog.get(name);
    const { nowMs: now } = about;
    return {
      name,
      seq: catalog.nextSeq(now),
      version: 1 + (previous?.version ?? tombstones.get(name)?.version ?? 0),
      type: about.type,
      bytes: about.bytes,
      chars: about.chars,
      createdAtMs: previous?.createdAtMs ?? now,
      accessedAtMs: now,
      writtenAccessMs: now,
      expiresAtMs: dueAt(write, now),
      pinned: write.pinned ?? false,
      visibility: write.visibility ?? previous?.visibility ?? "model",
      ...flagged(write.flags),
      run: write.run,
      tool: write.tool?.toWellFormed(),
      inputDigest: typeof write.name === "object" ? write.name.inputDigest : undefined,
    };
  }

  /** In the row if it fits, else in chunks; unless it is stored already. */
  #stored({ about, marks, body }: Content): Stored {
    const { bodies } = this.#state;
    const { mediaType, bytes, count } = about;
    if (isStored(body)) {
      bodies.claim(body);
      return { mediaType, bytes, count, marks, body };
    }
    const isLarge = bytes > limits.maxRowBytes;
    return { mediaType, bytes, count, marks, body: isLarge ? bodies.toChunks(body) : body };
  }

  /** Evicts others until there is room for `bytes` under the name. Throws before it changes anything. */
  #makeRoom(name: string, bytes: number, kept: ReadonlySet<string>): void {
    const { catalog } = this.#state;
    const maximum = this.#quotaBytes;
    const actual = catalog.bytes - (catalog.get(name)?.bytes ?? 0) + bytes;
    if (actual <= maximum) return;
    const nowMs = this.#state.now();
    const isDue = (entry: Entry) => this.#state.isDue(entry, nowMs);
    const others = catalog
      .values()
      .filter((entry) => entry.name !== name && !kept.has(entry.name) && this.#state.mayGo(entry));
    const going = firstToGo(others, { bytes: actual - maximum, isDue });
    if (bytes > maximum || going === undefined) {
      const advice = "Delete variables, or unpin some, and try again.";
      throw limitExceeded("maxConversationBytes", { maximum, actual, advice });
    }
    this.#state.evict(going, (entry) => (isDue(entry) ? this.#state.dueReason(entry) : "quota"));
  }

  /** By variables, and by those that were evicted. */
  get #taken(): TakenNames {
    const { catalog, tombstones, numbers } = this.#state;
    return {
      has: (name) => catalog.get(name) !== undefined || tombstones.has(name),
      ofCall: (base, { tool, inputDigest }) => {
        const evicted = [...tombstones.values()].filter(
          (tombstone) => tombstone.tool === tool && tombstone.inputDigest === inputDigest,
        );
        return [...catalog.ofCall(base, { tool, inputDigest }), ...evicted].map(({ name }) => name);
      },
      highestNumber: (base, ending) => {
        if (ending === "") return numbers.highest(base);
        const names = [...catalog.ofRuns().map(({ name }) => name), ...tombstones.keys()];
        return highestNumberIn(names, base, ending);
      },
    };
  }
}

function sizesOf({ about }: Content): Pick<Entry, "type" | "bytes" | "chars"> {
  const { type, bytes, chars } = about;
  return { type, bytes, chars };
}
