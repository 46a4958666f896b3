import { compact } from "../../value/json.ts";
import { numberIn, type Sql, type SqlRow } from "../../store/rows/sql.ts";
import type { SizedMessage } from "./compaction.ts";
import type { StoredMessage } from "./stored-message.ts";

interface RecentOptions {
  /** Characters of all messages together, as JSON. The newest is returned however long it is. */
  readonly maxChars: number;
  /** Converts a row of `message`. */
  readonly read: (row: SqlRow) => SizedMessage;
  /** True if there are no messages yet. Skips reads. */
  readonly isNew: boolean;
}

/** Number of messages whose sizes are read in one query. */
const SIZES_AT_ONCE = 50;
/** Messages in a prompt, regardless of their length. */
const MAX_MESSAGES = 1_000;

/** The newest messages that fit into a prompt together, oldest first, cached for the next turn. */
export class RecentMessages {
  readonly #sql: Sql;
  readonly #options: RecentOptions;
  #cached: readonly SizedMessage[] | undefined;
  /** Messages from this one on are in no prompt. */
  #end = Number.MAX_SAFE_INTEGER;

  constructor(sql: Sql, options: RecentOptions) {
    this.#sql = sql;
    this.#options = options;
    if (options.isNew) this.#cached = [];
  }

  /** The newest messages after `seq`, read once. */
  after(seq: number): readonly SizedMessage[] {
    this.#cached ??= this.between(seq, this.#end);
    return this.#cached;
  }

  /** The cached messages. Undefined if they have not been read. */
  get cached(): readonly SizedMessage[] | undefined {
    return this.#cached;
  }

  /** Adds the newest message, if the others are cached. */
  add({ message, ...sizes }: SizedMessage): void {
    if (this.#cached === undefined) return;
    const all = [...this.#cached, { ...sizes, message: forPrompt(message) }];
    const fitting = this.#newestThatFit(all.map(({ chars }) => chars).reverse());
    this.#cached = all.slice(-fitting);
  }

  /** Leaves out messages up to and including `seq`. */
  drop(seq: number): void {
    this.#cached = this.#cached?.filter((message) => message.seq > seq);
  }

  /** Leaves out messages from `end` on, until `forget`. */
  endAt(end: number): void {
    this.#cached = undefined;
    this.#end = end;
  }

  forget(): void {
    this.endAt(Number.MAX_SAFE_INTEGER);
  }

  /** Reads the newest messages between two others that fit into a prompt together, oldest first. */
  between(after: number, end: number): readonly SizedMessage[] {
    const sizes: { readonly seq: number; readonly chars: number }[] = [];
    let fitting = 0;
    // Sizes are read in batches, so that messages older than those that fit are not read.
    for (let hasMore = true; hasMore && fitting === sizes.length;) {
      const rows = this.#sql.all(
        `SELECT seq, chars FROM message WHERE seq < ? AND seq > ?
         ORDER BY seq DESC LIMIT ${SIZES_AT_ONCE}`,
        sizes.at(-1)?.seq ?? end,
        after,
      );
      hasMore = rows.length === SIZES_AT_ONCE && sizes.length < MAX_MESSAGES;
      for (const row of rows)
        sizes.push({ seq: numberIn(row, "seq"), chars: numberIn(row, "chars") });
      fitting = this.#newestThatFit(sizes.map(({ chars }) => chars));
    }
    const oldest = sizes[fitting - 1];
    if (oldest === undefined) return [];
    return this.#sql
      .all(`SELECT * FROM message WHERE seq >= ? AND seq < ? ORDER BY seq`, oldest.seq, end)
      .map(this.#options.read)
      .map(({ message, ...sized }) => ({ ...sized, message: forPrompt(message) }));
  }

  /** Counts the newest messages that fit into a prompt together, at least one. `sizes` are newest first. */
  #newestThatFit(sizes: readonly number[]): number {
    let used = 0;
    const above = sizes.findIndex((chars, index) => {
      used += chars;
      return used > this.#options.maxChars && index > 0;
    });
    return Math.min(above < 0 ? sizes.length : above, MAX_MESSAGES);
  }
}

/** Drops fields that only people see. They may be megabytes long. */
function forPrompt(stored: StoredMessage): StoredMessage {
  const { id, role, parts, tainted, prompt, createdAt } = stored;
  return compact({ id, role, parts, tainted, prompt, createdAt });
}
