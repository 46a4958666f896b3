import { compact } from "../value/json.ts";
import { ByrefError, requireAtMost } from "../errors.ts";
import { type Content, formatOf, isStored, locationOf, type Stored } from "./bytes/content.ts";
import { redacted } from "./labels.ts";
import { provenanceOf, toIso, tombstoneOf } from "./metadata.ts";
import { requireName } from "./names.ts";
import type { StoreState } from "./store-state.ts";
import type { MovedInfo, OpenValue, Tombstone, VariableInfo } from "./variable.ts";

/** What another store needs of a variable or a name. The bytes of values are beside it. */
export type StoreRecord =
  | VariableRecord
  /** An earlier version of the variable before it. */
  | VersionRecord
  | { readonly type: "tombstone"; readonly tombstone: Tombstone }
  /** The highest numbers used in names, by base. */
  | { readonly type: "numbers"; readonly numbers: Readonly<Record<string, number>> };

interface ValueRecord {
  readonly info: MovedInfo;
  /** Set if the bytes are a file that is read as records, such as a CSV. */
  readonly isTable?: true | undefined;
}

interface VariableRecord extends ValueRecord {
  readonly type: "variable";
  /** The run at whose end the variable is evicted. */
  readonly run?: string | undefined;
  /** The digest of the call that created the variable. A repetition of that call gets the same name. */
  readonly inputDigest?: string | undefined;
}

interface VersionRecord extends ValueRecord {
  readonly type: "version";
  /** Set if an undo replaced it. */
  readonly undone?: true | undefined;
}

/** A record to export. Without a value if that is secret. */
export interface ExportedRecord {
  readonly record: StoreRecord;
  readonly value?: OpenValue;
}

/** Copies all variables of a store into another one, one at a time. */
export class StoreTransfer {
  readonly #state: StoreState;

  constructor(state: StoreState) {
    this.#state = state;
  }

  /**
   * Yields the records of variables that have not expired, oldest first, and then of names. Reading them does not count
   * as an access. Values are closed when the next variable is asked for.
   */
  *records(): Generator<ExportedRecord> {
    const { index, versions } = this.#state;
    for (const { name } of index.values()) {
      const entry = this.#state.alive(name);
      const value = entry && this.#state.open(entry);
      if (entry === undefined || value === undefined) continue;
      const { info } = value;
      const { run, inputDigest } = entry;
      const own = compact({ isTable: isTable(info), run, inputDigest });
      const record = { type: "variable", info, ...own } as const;
      const isSecret = info.visibility === "secret";
      const kept = versions.of(isSecret ? "" : name).flatMap(({ version, isUndone }) => {
        const value = versions.earlier(name, version)?.open();
        return value === undefined ? [] : { value, undone: isUndone || undefined };
      });
      try {
        yield isSecret ? { record } : { record, value };
        for (const { value, undone } of kept) {
          const { info } = value;
          const own = compact({ isTable: isTable(info), undone });
          yield { record: { type: "version", info, ...own }, value };
        }
      } finally {
        for (const { close } of [value, ...kept.map((one) => one.value)]) close();
      }
    }
    for (const tombstone of index.tombstones.values()) {
      yield { record: { type: "tombstone", tombstone } };
    }
    yield { record: { type: "numbers", numbers: index.numbers } };
  }

  /**
   * Restores a record of another store. A variable is then the newest one, and its idle time starts again; a tombstone
   * takes the place of a secret, whose value was left out. Observers are not called. `content`: the value, if there is
   * one, received by this store; it is saved or discarded. Rejects with `bad_name`, `conflict` (the name is taken) or
   * `limit_exceeded`, because restoring evicts nothing; an earlier version for which there is no room is left out.
   */
  async restore(record: StoreRecord, content?: Content): Promise<void> {
    const { bodies } = this.#state;
    let kept = content;
    try {
      kept &&= await bodies.toBucket(kept);
      this.#state.atomically(() => this.#restore(record, kept));
    } finally {
      if (kept !== undefined && isStored(kept.body)) bodies.drop(kept.body);
    }
  }

  #restore(record: StoreRecord, content: Content | undefined): void {
    const { index } = this.#state;
    switch (record.type) {
      case "tombstone":
        return index.addTombstone(record.tombstone);
      case "numbers":
        for (const [base, number] of Object.entries(record.numbers))
          index.noteNumber(`${base}_${number}`);
        return index.saveNumbers();
      case "version":
        return content && this.#restoreVersion(record, content);
      case "variable": {
        if (content !== undefined) return this.#restoreVariable(record, content);
        const { info, inputDigest } = record;
        const atMs = this.#state.now();
        return index.addTombstone(tombstoneOf(info, { inputDigest, reason: "left_out", atMs }));
      }
    }
  }

  #restoreVariable({ info, run, inputDigest }: VariableRecord, content: Content): void {
    const { index, bodies, quotaBytes, bytes } = this.#state;
    const { name } = info;
    requireName(name);
    if (index.get(name) !== undefined) {
      throw new ByrefError("conflict", `The variable ${name} already exists.`);
    }
    const advice = "Raise the quota, or take fewer variables.";
    requireAtMost(["maxConversationBytes", quotaBytes], bytes + content.about.bytes, advice);
    const stored = bodies.place(content);
    const restored = { ...movedInfo(info, content, stored), ...provenanceOf(info) };
    const accessedAt = toIso(this.#state.now());
    const scope = run === undefined ? "conversation" : "run";
    index.put({ ...restored, accessedAt, scope }, stored, { run, inputDigest });
  }

  #restoreVersion({ info, undone }: VersionRecord, content: Content): void {
    const { index, bodies, versions, bytes, quotaBytes } = this.#state;
    const hasRoom = bytes + content.about.bytes <= quotaBytes;
    if (!hasRoom || index.get(info.name) === undefined) return;
    const stored = bodies.place(content);
    const restored = movedInfo(info, content, stored);
    versions.add({ info: restored, stored, isUndone: undone === true });
  }
}

function movedInfo(info: MovedInfo, { about }: Content, { body }: Stored): VariableInfo {
  const own = {
    accessedAt: info.updatedAt,
    scope: "conversation",
    location: locationOf(body),
  } as const;
  return { ...info, ...redacted(about, info.visibility), ...own };
}

function isTable({ type, mediaType }: VariableInfo): true | undefined {
  return type === "array" && formatOf(mediaType) === "bytes" ? true : undefined;
}
