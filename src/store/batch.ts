import { ByrefError } from "../errors.ts";
import type { Json } from "../value/json.ts";
import { valueIn } from "../value/path.ts";
import {
  Content,
  isOfLines,
  isStored,
  jsonContent,
  RECORDS_TYPE,
  type StoredBody,
  storedOf,
} from "./bytes/content.ts";
import { joinedLines, receive } from "./bytes/receive.ts";
import { requireName } from "./names.ts";
import { retryConflicts } from "./retry-conflicts.ts";
import { StoredValue } from "./bytes/read-part.ts";
import type { StoreState } from "./store-state.ts";
import type { Variables, Write } from "./variable-store.ts";
import type { VariableInfo } from "./variable.ts";
import { isExtension, valueWithin } from "./write-mode.ts";
import type { Writer } from "./writer.ts";

/**
 * Writes that commit together. Each write sees the values of the writes before it. `prepare` does the
 * asynchronous work, `commit` is synchronous. Bytes stored for the batch are protected from the sweep until
 * it is settled.
 */
export class Batch {
  readonly #state: StoreState;
  readonly #writer: Writer;
  readonly #writes: readonly Write[];
  readonly #drafts: Draft[] = [];
  readonly #inUse: StoredBody[] = [];

  constructor(writes: readonly Write[], state: StoreState, writer: Writer) {
    this.#state = state;
    this.#writer = writer;
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

  /** Prepares and commits, and repeats this if another write commits first. Always settles the batch. */
  async save(store: Variables): Promise<readonly VariableInfo[]> {
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
      const seqs = new Map<Draft, number | undefined>();
      return this.#drafts.map((draft) => {
        const { write, content, after } = draft;
        if (isExtension(write)) {
          const name = String(write.name);
          const expected = after.draft === undefined ? after.seq : seqs.get(after.draft);
          if (state.alive(name)?.seq !== expected) throw changedMeanwhile(name);
        }
        const info = this.#writer.put(write, content, kept);
        kept.add(info.name);
        seqs.set(draft, state.index.get(info.name)?.seq);
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
    const lines = areRecords(write.value) ? await this.#withLines(write, index) : undefined;
    if (lines !== undefined) return lines;
    const { value, after } = isExtension(write) ? await this.#base(write, index) : NO_BASE;
    const content = await this.#contentOf(write, value);
    if (!bodies.belongsInBucket(content)) return { write, content, after };
    const stored = await bodies.toBucket(content);
    this.#keep(stored);
    return { write, content: stored, after };
  }

  /** Adds the lines of records to those of a variable, as NDJSON, without reading them as values. */
  async #withLines(write: Write, index: number): Promise<Draft | undefined> {
    const { name, value, mode, path = [] } = write;
    if (!areRecords(value) || mode !== "append" || path.length > 0 || typeof name !== "string") {
      return undefined;
    }
    const isFirst = this.#drafts.slice(0, index).every((draft) => draft.write.name !== name);
    const state = this.#state;
    const entry = isFirst ? state.alive(name) : undefined;
    const stored = entry && state.rows.stored(name);
    if (entry === undefined || stored === undefined || !isOfLines(stored)) return undefined;
    const release = state.bodies.hold(stored.body);
    try {
      const added = new StoredValue(storedOf(value), state);
      const bytes = joinedLines(new StoredValue(stored, state).ndjson(), added.ndjson());
      const content = await receive(bytes, RECORDS_TYPE, state.bodies);
      this.#keep(content);
      return { write, content, after: { seq: entry.seq } };
    } finally {
      release();
    }
  }

  /** Creates the content to store. Rejects with `bad_value`, `bad_path` or `limit_exceeded`. */
  async #contentOf(write: Write, existing: Json | undefined): Promise<Content> {
    const { value, path = [], mode = "replace" } = write;
    if (!(value instanceof Content)) {
      const whole = isExtension(write) ? valueWithin(existing, path, { mode, value }) : value;
      return jsonContent(whole);
    }
    const replaces =
      path.length === 0 && (mode === "replace" || mode === "new" || existing === undefined);
    if (replaces) return value;
    if (value.about.type === "bytes") {
      throw new ByrefError("bad_value", "Bytes can only replace a value; use mode=replace.");
    }
    const added = await this.#valueOf({ write, content: value });
    return jsonContent(valueWithin(existing, path, { mode, value: added }));
  }

  /** Returns the value that the write extends: that of an earlier write of the batch, or the variable's current one. */
  async #base({ name }: Write, index: number): Promise<Base> {
    const earlier = this.#drafts
      .slice(0, index)
      .findLast(({ write }) => write.name === name && write.mode !== "new");
    if (earlier !== undefined) {
      return { value: await this.#valueOf(earlier), after: { draft: earlier } };
    }
    const entry = this.#state.alive(String(name));
    if (entry === undefined) return NO_BASE;
    // Does not count as an access: a rejected write leaves no trace.
    const value = valueIn(await this.#state.readPath(entry, []));
    return { value, after: { seq: entry.seq } };
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
  readonly after: Predecessor;
}

/** The write whose value an extension contains: a stored one by its seq, one of the same batch, or none. */
interface Predecessor {
  readonly seq?: number;
  readonly draft?: Draft;
}

/** A value that a write extends. */
interface Base {
  readonly value: Json | undefined;
  readonly after: Predecessor;
}

const NO_BASE: Base = { value: undefined, after: {} };

function changedMeanwhile(name: string): ByrefError {
  return new ByrefError("conflict", `${name} changed while it was extended; try again.`);
}

function requireTarget({ name, path = [], mode }: Write): void {
  if (typeof name === "string") requireName(name);
  if (path.length === 0 || (typeof name === "string" && mode !== "new")) return;
  throw new ByrefError("bad_value", "A path cannot be combined with mode=new.");
}

function areRecords(value: Write["value"]): value is Content {
  return value instanceof Content && isOfLines(storedOf(value));
}

/** Returns the result of a batch with one write. */
export function only(infos: readonly VariableInfo[]): VariableInfo {
  const [info] = infos;
  if (info === undefined) throw new ByrefError("internal", "One write has one result.");
  return info;
}
