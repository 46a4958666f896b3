import { compact } from "../value/json.ts";
import { ByrefError, requireAtMost } from "../errors.ts";
import { type Content, isStored, locationOf, type Stored } from "./bytes/content.ts";
import { redacted } from "./labels.ts";
import { provenanceOf, toIso, tombstoneOf } from "./metadata.ts";
import { requireName } from "./names.ts";
import type { StoreState } from "./store-state.ts";
import type { ExportedVariable, VariableRecord, VersionRecord } from "./variable-store.ts";
import type { Tombstone, VariableInfo } from "./variable.ts";

/** Copies all variables of a store into another one, one at a time. */
export class StoreTransfer {
  readonly #state: StoreState;

  constructor(state: StoreState) {
    this.#state = state;
  }

  /** The names of variables that have not expired, oldest first. */
  names(): readonly string[] {
    const { index } = this.#state;
    return index.values().flatMap(({ name }) => this.#state.alive(name)?.name ?? []);
  }

  /** Tombstones, the oldest first, and the highest numbers used in names, by base. */
  nameRecords() {
    const { tombstones, numbers } = this.#state;
    return { tombstones: [...tombstones.values()], numbers: numbers.toJSON() };
  }

  /** Opens a variable without counting as an access. Undefined if it does not exist (any more). Close it. */
  open(name: string): ExportedVariable | undefined {
    const entry = this.#state.alive(name);
    if (entry === undefined) return undefined;
    const opened = this.#state.open(entry);
    if (opened === undefined) return undefined;
    const { run, inputDigest } = entry;
    return { ...opened, ...compact({ run, inputDigest }) };
  }

  /**
   * Restores a variable from another store, as the newest one. Its idle time starts again. Observers are
   * not called. `content` must be received by this store; it is saved or discarded. Rejects with
   * `bad_name`, `conflict` (the name is taken) or `limit_exceeded`, because restoring evicts nothing.
   */
  restore({ info, run, inputDigest }: VariableRecord, content: Content): Promise<VariableInfo> {
    return this.#placed(content, (place) => {
      const { index, numbers, quotaBytes } = this.#state;
      const { name, visibility } = info;
      requireName(name);
      if (index.get(name) !== undefined) {
        throw new ByrefError("conflict", `The variable ${name} already exists.`);
      }
      const actual = this.#state.bytes + content.about.bytes;
      const advice = "Raise the quota, or take fewer variables.";
      requireAtMost(["maxConversationBytes", quotaBytes], actual, advice);
      const nowMs = this.#state.now();
      const stored = place();
      const restored: VariableInfo = {
        ...info,
        ...redacted(content.about, visibility),
        ...provenanceOf(info),
        accessedAt: toIso(nowMs),
        scope: run === undefined ? "conversation" : "run",
        location: locationOf(stored.body),
      };
      const createdAtMs = Date.parse(info.createdAt);
      index.put(restored, stored, { createdAtMs, run, inputDigest, nowMs });
      numbers.note(name);
      return restored;
    });
  }

  /** Opens the earlier versions of a variable, oldest first. Close them. */
  versions(name: string) {
    const { versions } = this.#state;
    return versions.of(name).flatMap(({ version, isUndone }) => {
      const opened = versions.earlier(name, version)?.open();
      return opened === undefined ? [] : { ...opened, undone: isUndone || undefined };
    });
  }

  /**
   * Restores an earlier version of a variable that was restored. `content` must be received by this store; it
   * is saved or discarded. A version that does not fit into the quota is left out.
   */
  restoreVersion({ info, undone }: VersionRecord, content: Content): Promise<void> {
    return this.#placed(content, (place) => {
      const { index, versions, bytes, quotaBytes } = this.#state;
      const hasRoom = bytes + content.about.bytes <= quotaBytes;
      if (!hasRoom || index.get(info.name) === undefined) return;
      const stored = place();
      const restored: VariableInfo = {
        ...info,
        ...redacted(content.about, info.visibility),
        accessedAt: info.updatedAt,
        scope: "conversation",
        location: locationOf(stored.body),
      };
      versions.add({ info: restored, stored, isUndone: undone === true });
    });
  }

  /** Stores content that is too large for rows in the bucket, and commits what `restore` writes. */
  async #placed<Result extends VariableInfo | void>(
    content: Content,
    restore: (place: () => Stored) => Result,
  ): Promise<Result> {
    const { bodies } = this.#state;
    let kept = content;
    try {
      if (bodies.belongsInBucket(content)) kept = await bodies.toBucket(content);
      const work = () => restore(() => bodies.place(kept));
      return this.#state.atomically<VariableInfo | void>(work) as Result;
    } finally {
      if (isStored(kept.body)) bodies.drop(kept.body);
    }
  }

  /** Writes a tombstone in place of a secret, whose value was left out. */
  leaveOut({ info, inputDigest }: VariableRecord): void {
    const atMs = this.#state.now();
    this.restoreTombstone(tombstoneOf(info, { inputDigest, reason: "left_out", atMs }));
  }

  /** The oldest are dropped above `maxItems`. */
  restoreTombstone(tombstone: Tombstone): void {
    this.#state.atomically(() => this.#state.addTombstone(tombstone));
  }

  restoreNumbers(numbers: Readonly<Record<string, number>>): void {
    this.#state.atomically(() => this.#state.rows.saveNumbers(numbers));
    // They are then read from the rows.
    this.#state.forget();
  }
}
