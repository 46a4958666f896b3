import { parseExactly } from "../../value/exact-number.ts";
import * as limits from "../../limits.ts";
import { readText, SqlChunks, writeText } from "../../store/bytes/chunks.ts";
import { withTimeLimit } from "../../value/deadline.ts";
import { byteLength } from "../../value/encoding.ts";
import { compact } from "../../value/json.ts";
import {
  firstRow,
  numberIn,
  numberOf,
  optionalTextIn,
  readMeta,
  replaceRow,
  type Sql,
  textIn,
  writeMeta,
} from "../../store/rows/sql.ts";
import {
  type Compacted,
  compactedWith,
  type CompactionOptions,
  KEPT_TURNS,
  lastToCompact,
  mayHave,
  type SizedMessage,
  summarizable,
  withSummary,
} from "./compaction.ts";
import type { Agent } from "../agent.ts";
import { type HistoryRecord, historyRecord } from "./history-record.ts";
import type { StoredMessage } from "./stored-message.ts";

/** Number of messages that are read in one query. Each is at most a megabyte, or read by itself. */
const READ_AT_ONCE = 8;
/** Messages in a prompt, regardless of their length. */
const MAX_MESSAGES = 1_000;
/** The row of `meta` with what is compacted. A change of its content needs another key. */
const KEY = "outline";
/** Larger than any message's number. */
const NO_END = Number.MAX_SAFE_INTEGER;

interface Window {
  /** The message of a turn that continues. */
  readonly answer?: string;
  /** A question that is answered again, or one of its answers. */
  readonly repeats?: string | undefined;
}

/** The messages of one conversation, in the order in which they were written. */
export class History {
  readonly #sql: Sql;
  readonly #chunks: SqlChunks;
  /** What is compacted stays so until one of its messages is removed. Null if nothing is. Undefined until it is read. */
  #compacted: Compacted | null | undefined;
  /** The newest messages that are not compacted and fit into a prompt. Undefined until they are read. */
  #cached: readonly SizedMessage[] | undefined;

  /** `isNew`: nothing has been written yet. Skips reads. */
  constructor(sql: Sql, { isNew = false } = {}) {
    this.#sql = sql;
    this.#chunks = new SqlChunks(sql);
    if (!isNew) return;
    this.#cached = [];
    this.#compacted = null;
  }

  /** Adds a message. Cost: one row written; a message of over a megabyte adds one row per chunk. */
  add(message: StoredMessage): void {
    const { id: _id, role, createdAt, ...content } = message;
    // Ids are cursors. An id that a client sends twice names the first message only. Our own ids are always
    // new.
    const isTaken = role === "user" && this.has(message.id);
    const id = isTaken ? crypto.randomUUID() : message.id;
    const body = JSON.stringify(content);
    const isLarge = byteLength(body) > limits.maxRecordBytes;
    // An edit may reuse an id. A separate key keeps the chunks from being overwritten.
    const chunks = isLarge ? `message ${crypto.randomUUID()}` : null;
    const chars = JSON.stringify(content.parts).length;
    const sizes = { chars, body_chars: body.length };
    const row = { id, role, created_at: Date.parse(createdAt), ...sizes, chunks };
    const write = () => {
      if (chunks !== null) writeText(this.#chunks, chunks, body);
      replaceRow(this.#sql, "message", { ...row, body: isLarge ? null : body });
    };
    this.#atomically(write);
    if (this.#cached === undefined) return;
    // Messages are removed from the end only, so their numbers have no gaps.
    const seq = 1 + (this.#cached.at(-1)?.seq ?? this.#lastCompacted);
    const all = [...this.#cached, { seq, chars, message: forPrompt({ ...message, id }) }];
    this.#cached = all.slice(-countFitting(all.map((one) => one.chars).reverse()));
  }

  /** Clears the cache after a transaction around these calls was rolled back. */
  forget(): void {
    this.#cached = undefined;
    this.#chunks.forget();
    this.#compacted = undefined;
  }

  /** The turns that prompts have in outline only. The same object until that changes. Costs one row read at most. */
  get compacted(): Compacted | undefined {
    if (this.#compacted === undefined)
      this.#compacted = JSON.parse(readMeta(this.#sql, KEY) ?? "null") as Compacted | null;
    return this.#compacted ?? undefined;
  }

  #saveCompacted(compacted: Compacted): void {
    writeMeta(this.#sql, KEY, JSON.stringify(compacted));
    this.#compacted = compacted;
  }

  /**
   * Compacts the oldest turns if the messages of a prompt exceed the budget. The newest question and the two
   * turns before it stay. Writes one row, or none.
   */
  compact(options: CompactionOptions): void {
    const before = this.compacted;
    const last = lastToCompact(this.#recent, before, options.agent);
    if (last === undefined) return;
    this.#saveCompacted(compactedWith(before, this.between(this.#lastCompacted, last), options));
    this.#cached = this.#recent.filter(({ seq }) => seq > last);
  }

  /**
   * Replaces the outline's newest lines by the text that an agent's `summarize` returns for their turns. Once for each
   * compaction. Rejects with what it throws, or after `modelSilenceMs`; then the lines stay. `isCurrent`: false once the
   * history is no longer that of the conversation.
   */
  async summarize(
    summarize: NonNullable<Agent["summarize"]>,
    isCurrent: () => boolean,
  ): Promise<void> {
    // A conversation that is deleted meanwhile must not be written to.
    const before = isCurrent() ? this.compacted : undefined;
    const lines = summarizable(before);
    const [first] = lines;
    if (before === undefined || first === undefined) return;
    // Only once, even if the summary fails or the process ends.
    this.#saveCompacted({ ...before, isTaken: true });
    const records: HistoryRecord[] = [];
    let turn = first.from - 1;
    for (const { message } of this.between(first.seq - 1, this.#lastCompacted)) {
      if (message.role === "user") turn++;
      records.push(historyRecord(message, turn));
    }
    const turns = [...Map.groupBy(records, (record) => record.turn).values()];
    const work = (signal: AbortSignal) => summarize(turns, { signal });
    const text: unknown = await withTimeLimit(limits.modelSilenceMs, work);
    if (typeof text !== "string" || text.trim() === "" || !isCurrent()) return;
    const summarized = withSummary(this.compacted, lines, text);
    if (summarized !== undefined) this.#saveCompacted(summarized);
  }

  /** Yields the messages after `seq` up to `last`, oldest first. Holds a few at a time. */
  *between(seq: number, last: number): Generator<SizedMessage> {
    for (let from = seq; from < last; from += READ_AT_ONCE) {
      yield* this.#range(from + 1, Math.min(from + READ_AT_ONCE, last) + 1);
    }
  }

  questionsBetween(seq: number, last: number): number {
    const counted = `SELECT count(*) FROM message WHERE role = 'user' AND seq > ? AND seq <= ?`;
    return numberOf(this.#sql, counted, seq, last);
  }

  /** Replaces the newest message, which has the same id. */
  replaceNewest(message: StoredMessage): void {
    this.#atomically(() => {
      this.removeFrom(message.id);
      this.add(message);
    });
  }

  /**
   * Returns the newest messages that are not compacted and fit into a prompt together, oldest first, none cut. Leaves out
   * the newest message if its id is `answer`, because that turn continues, and the messages after the question of
   * `repeats`, because that is answered again: the question is in the window however long its answers are.
   */
  window({ answer, repeats }: Window = {}): readonly StoredMessage[] {
    const newest = this.#recent.at(-1);
    const isContinued = newest !== undefined && newest.message.id === answer;
    const repeated = repeats === undefined ? NO_END : this.#questionOf(repeats) + 1;
    const end = isContinued ? newest.seq : repeated;
    const shown = end === NO_END ? this.#recent : this.#newestBefore(end);
    const messages = shown.map(({ message }) => message);
    const firstQuestion = messages.findIndex((message) => message.role === "user");
    return firstQuestion < 0 ? [] : messages.slice(firstQuestion);
  }

  /**
   * Returns a page of messages, oldest first: at most `limit`, and at most about 8 MB unless a single message
   * is larger. `before` is a message id; an unknown id yields an empty page. `next` is the `before` of the
   * next page.
   */
  page(options: { readonly limit: number; readonly before?: string }): {
    readonly messages: readonly StoredMessage[];
    readonly next?: string;
  } {
    const { limit, before } = options;
    const end = before === undefined ? NO_END : this.#seqOf(before);
    const sizes = this.#sql.all(
      `SELECT seq, body_chars FROM message WHERE seq < ? ORDER BY seq DESC LIMIT ?`,
      end,
      limit + 1,
    );
    let chars = 0;
    const fits = sizes.slice(0, limit).filter((row, index) => {
      chars += numberIn(row, "body_chars");
      return index === 0 || chars <= limits.maxPageChars;
    });
    const oldest = fits.at(-1);
    if (oldest === undefined) return { messages: [] };
    const messages = this.#range(numberIn(oldest, "seq"), end).map(({ message }) => message);
    const next = fits.length < sizes.length ? messages[0]?.id : undefined;
    return { messages, ...compact({ next }) };
  }

  /** True if a message has this id. Usually answered by the newest messages and the compaction alone. */
  has(id: string): boolean {
    const recent = this.#recent;
    if (recent.some(({ message }) => message.id === id)) return true;
    const hasRest = recent.length > 0 && recent[0]?.seq !== this.#lastCompacted + 1;
    return (hasRest || mayHave(this.compacted, id)) && this.#seqOf(id) > 0;
  }

  get(id: string): StoredMessage | undefined {
    return this.#read(`WHERE seq = ?`, this.#seqOf(id))[0]?.message;
  }

  newest(): StoredMessage | undefined {
    return this.#read(`ORDER BY seq DESC LIMIT 1`)[0]?.message;
  }

  /**
   * Removes the messages after a question, so that it can be answered again. `messageId` names the question
   * or one of its answers. Default: the newest question.
   */
  removeAnswers(messageId: string | undefined): void {
    const seq = this.#questionOf(messageId);
    if (seq > 0) this.#removeAfter(seq);
  }

  /** Number of messages that `removeAnswers` would remove. */
  countAnswers(messageId: string): number {
    const seq = this.#questionOf(messageId);
    return numberOf(this.#sql, `SELECT count(*) FROM message WHERE seq > ?`, seq);
  }

  /** True if `removeAnswers` would find a question. */
  hasQuestion(messageId: string | undefined): boolean {
    return this.#questionOf(messageId) > 0;
  }

  /** True for the newest question and its answers. */
  isOfLastTurn(messageId: string | undefined): boolean {
    return this.#questionOf(messageId) === this.#questionOf(undefined);
  }

  #questionOf(messageId: string | undefined): number {
    const named = messageId === undefined ? NO_END : this.#seqOf(messageId);
    const newest = `SELECT max(seq) FROM message WHERE role = 'user' AND seq <= ?`;
    return numberOf(this.#sql, newest, named);
  }

  /** Returns the first message written after `seq`. Used to read all messages one by one, oldest first. */
  following(seq: number): SizedMessage | undefined {
    return this.#read(`WHERE seq > ? ORDER BY seq LIMIT 1`, seq)[0];
  }

  /** Changes with the first message, which is not read. Undefined if there is none. */
  firstKey(): string | undefined {
    const select = `SELECT seq, id, created_at, body_chars FROM message ORDER BY seq LIMIT 1`;
    const row = firstRow(this.#sql, select);
    return row && JSON.stringify(Object.values(row));
  }

  /** The sequence number of the newest message. Grows with each message. */
  lastSeq(): number {
    return numberOf(this.#sql, `SELECT max(seq) FROM message`);
  }

  count(): number {
    return numberOf(this.#sql, `SELECT count(*) FROM message`);
  }

  /** Time of the newest message, in milliseconds since 1970. */
  lastMs(): number | undefined {
    const newest = this.#cached?.at(-1)?.message;
    if (newest !== undefined) return Date.parse(newest.createdAt);
    const row = firstRow(this.#sql, `SELECT created_at FROM message ORDER BY seq DESC LIMIT 1`);
    return row && numberIn(row, "created_at");
  }

  /**
   * Removes a message and all later ones, before an edited message takes its place. Does nothing for an
   * unknown id.
   */
  removeFrom(id: string): void {
    const seq = this.#seqOf(id);
    if (seq > 0) this.#removeAfter(seq - 1);
  }

  #removeAfter(seq: number): void {
    this.#cached = undefined;
    this.#atomically(() => {
      const last = this.#lastCompacted;
      // The next prompt compacts anew.
      if (last > 0 && this.questionsBetween(last, seq) < KEPT_TURNS) {
        this.#sql.run(`DELETE FROM meta WHERE key = '${KEY}'`);
        this.#compacted = null;
      }
      for (const { chunks } of this.#sql.all(`SELECT chunks FROM message WHERE seq > ?`, seq)) {
        if (typeof chunks === "string") this.#chunks.remove(chunks);
      }
      this.#sql.run(`DELETE FROM message WHERE seq > ?`, seq);
    });
  }

  #atomically(work: () => void): void {
    try {
      this.#sql.transaction(work);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** The newest messages that are not compacted and fit into a prompt together, oldest first. Read once. */
  get #recent(): readonly SizedMessage[] {
    this.#cached ??= this.#newestBefore(NO_END);
    return this.#cached;
  }

  #newestBefore(end: number): readonly SizedMessage[] {
    const sizes = this.#sql.all(
      `SELECT seq, chars FROM message WHERE seq > ? AND seq < ? ORDER BY seq DESC LIMIT ${MAX_MESSAGES}`,
      this.#lastCompacted,
      end,
    );
    const oldest = sizes[countFitting(sizes.map((row) => numberIn(row, "chars"))) - 1];
    if (oldest === undefined) return [];
    const sized = this.#range(numberIn(oldest, "seq"), end);
    return sized.map((one) => ({ ...one, message: forPrompt(one.message) }));
  }

  #seqOf(id: string): number {
    if (this.#cached?.length === 0 && this.#lastCompacted === 0) return 0;
    const newest = `SELECT seq FROM message WHERE id = ? ORDER BY seq DESC LIMIT 1`;
    return numberOf(this.#sql, newest, id);
  }

  get #lastCompacted(): number {
    return this.compacted?.seq ?? 0;
  }

  /** The messages from one to before another, oldest first. */
  #range(from: number, end: number): readonly SizedMessage[] {
    return this.#read(`WHERE seq >= ? AND seq < ? ORDER BY seq`, from, end);
  }

  #read(which: string, ...bindings: readonly number[]): readonly SizedMessage[] {
    return this.#sql.all(`SELECT * FROM message ${which}`, ...bindings).map((row) => {
      const chunks = optionalTextIn(row, "chunks");
      const body = chunks === undefined ? textIn(row, "body") : readText(this.#chunks, chunks);
      // `add` wrote these columns.
      const message = {
        id: textIn(row, "id"),
        role: textIn(row, "role") as StoredMessage["role"],
        ...(parseExactly(body) as Omit<StoredMessage, "id" | "role" | "createdAt">),
        createdAt: new Date(numberIn(row, "created_at")).toISOString(),
      };
      return { seq: numberIn(row, "seq"), chars: numberIn(row, "chars"), message };
    });
  }
}

/** Counts the newest messages that fit into a prompt together, at least one. `sizes` are newest first. */
function countFitting(sizes: readonly number[]): number {
  let used = 0;
  const above = sizes.findIndex((chars, index) => {
    used += chars;
    return used > limits.maxHistoryChars && index > 0;
  });
  return Math.min(above < 0 ? sizes.length : above, MAX_MESSAGES);
}

/** Drops fields that only people see. They may be megabytes long. */
function forPrompt(stored: StoredMessage): StoredMessage {
  const { id, role, parts, tainted, prompt, createdAt } = stored;
  return compact({ id, role, parts, tainted, prompt, createdAt });
}
