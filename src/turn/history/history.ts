import type { FinishReason, UIMessage } from "ai";
import * as limits from "../../limits.ts";
import { readText, SqlChunks, writeText } from "../../store/bytes/chunks.ts";
import { compact } from "../../value/json.ts";
import { byteLength } from "../../value/utf8.ts";
import {
  firstRow,
  numberIn,
  optionalTextIn,
  type Sql,
  type SqlRow,
  textIn,
} from "../../store/rows/sql.ts";
import type { Deferred, MessagePart } from "./message-parts.ts";

/** A stored message. Its texts keep references as they were written. */
export interface StoredMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly MessagePart[];
  /** The texts as the person saw them, one per text part. Absent if they equal the stored texts. */
  readonly display?: readonly string[];
  readonly metadata?: unknown;
  /** True if the model had seen untrusted content when it wrote this. */
  readonly tainted?: boolean;
  /** The pins of the inputs that would run, by approval; then the calls prepared after them, by id. */
  readonly waiting?: Readonly<Record<string, string>>;
  readonly deferred?: Readonly<Record<string, Deferred>>;
  /** The agent that continues the message. */
  readonly agent?: string;
  /** Why the model stopped. Absent if it finished normally. */
  readonly finishReason?: FinishReason;
  readonly createdAt: string;
}

/** The form in which a message's texts are read. */
export type MessageForm = "display" | "reference";

/** Number of messages whose sizes are read in one query. */
const SIZES_AT_ONCE = 50;

interface HistoryOptions {
  /** Maximum characters of the parts, as JSON, that `window` returns together. */
  readonly maxPromptChars?: number;
  /** True if nothing has been written yet. Skips reads. */
  readonly isNew?: boolean;
}

/** The messages of one conversation, in the order in which they were written. */
export class History {
  readonly #sql: Sql;
  readonly #chunks: SqlChunks;
  readonly #maxPromptChars: number;
  /** The newest messages, cached for the next turn. Empty if the conversation has no messages. */
  #recent: Recent | undefined;

  constructor(
    sql: Sql,
    { maxPromptChars = limits.maxHistoryChars, isNew = false }: HistoryOptions = {},
  ) {
    this.#sql = sql;
    this.#maxPromptChars = maxPromptChars;
    this.#chunks = new SqlChunks(sql);
    if (isNew) this.#recent = [];
  }

  /** Adds a message. Cost: one row written; a message of over a megabyte adds one row per chunk. */
  add(message: StoredMessage): void {
    const { role, parts, createdAt } = message;
    // Ids are cursors. An id that a client sends twice names the first message only. Our own ids are always
    // new.
    const isTaken = role === "user" && this.has(message.id);
    const id = isTaken ? crypto.randomUUID() : message.id;
    const body = bodyOf(message);
    const isLarge = byteLength(body) > limits.maxChunkBytes;
    // An edit may reuse an id. A separate key keeps the chunks from being overwritten.
    const chunks = isLarge ? `message ${crypto.randomUUID()}` : null;
    const chars = JSON.stringify(parts).length;
    const write = () => {
      if (chunks !== null) writeText(this.#chunks, chunks, body);
      this.#sql.run(
        `INSERT INTO message (id, role, created_at, chars, body_chars, chunks, body)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        id,
        role,
        Date.parse(createdAt),
        chars,
        body.length,
        chunks,
        isLarge ? null : body,
      );
    };
    // A single statement needs no transaction of its own.
    if (isLarge) this.#atomically(write);
    else write();
    if (this.#recent === undefined) return;
    const recent = [...this.#recent, { chars, message: forPrompt({ ...message, id }) }];
    const fitting = newestThatFit(recent.map((one) => one.chars).reverse(), this.#maxPromptChars);
    this.#recent = recent.slice(-fitting);
  }

  /** Clears the cache after a transaction around these calls was rolled back. */
  forget(): void {
    this.#recent = undefined;
    this.#chunks.forget();
  }

  /** Replaces the newest message, which has the same id. */
  replaceNewest(message: StoredMessage): void {
    this.#atomically(() => {
      this.removeFrom(message.id);
      this.add(message);
    });
  }

  /** Number of rows that `add` writes for a message. */
  rowsFor(message: StoredMessage): number {
    const bytes = byteLength(bodyOf(message));
    return 1 + (bytes > limits.maxChunkBytes ? Math.ceil(bytes / limits.maxChunkBytes) : 0);
  }

  /**
   * Returns the newest messages that fit into a prompt together, oldest first, none cut. Leaves out the
   * newest message if its id is `answer`: that turn continues, and its question is in the window however long
   * the answer is.
   */
  window(answer?: string): readonly StoredMessage[] {
    this.#recent ??= this.#readRecent();
    const newest = this.#recent.at(-1)?.message.id;
    const isContinued = newest !== undefined && newest === answer;
    const recent = isContinued ? this.#readRecent(this.#seqOf(newest)) : this.#recent;
    const messages = recent.map(({ message }) => message);
    const firstQuestion = messages.findIndex((message) => message.role === "user");
    return firstQuestion < 0 ? [] : messages.slice(firstQuestion);
  }

  #readRecent(end = Number.MAX_SAFE_INTEGER): Recent {
    const sizes: { readonly seq: number; readonly chars: number }[] = [];
    let fitting = 0;
    // Sizes are read in batches, so that messages older than those that fit are not read.
    for (let hasMore = true; hasMore && fitting === sizes.length;) {
      const rows = this.#sql.all(
        `SELECT seq, chars FROM message WHERE seq < ? ORDER BY seq DESC LIMIT ${SIZES_AT_ONCE}`,
        sizes.at(-1)?.seq ?? end,
      );
      hasMore = rows.length === SIZES_AT_ONCE && sizes.length < limits.maxHistoryMessages;
      for (const row of rows)
        sizes.push({ seq: numberIn(row, "seq"), chars: numberIn(row, "chars") });
      fitting = newestThatFit(
        sizes.map(({ chars }) => chars),
        this.#maxPromptChars,
      );
    }
    const oldest = sizes[fitting - 1];
    if (oldest === undefined) return [];
    return this.#sql
      .all(`SELECT * FROM message WHERE seq >= ? AND seq < ? ORDER BY seq`, oldest.seq, end)
      .map((row) => ({
        chars: numberIn(row, "chars"),
        message: forPrompt(this.#messageFrom(row)),
      }));
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
    const end = before === undefined ? Number.MAX_SAFE_INTEGER : this.#seqOf(before);
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
    const messages = this.#sql
      .all(
        `SELECT * FROM message WHERE seq >= ? AND seq < ? ORDER BY seq`,
        numberIn(oldest, "seq"),
        end,
      )
      .map((row) => this.#messageFrom(row));
    const [first] = messages;
    const hasMore = fits.length < sizes.length;
    return { messages, ...(hasMore && first !== undefined ? { next: first.id } : {}) };
  }

  has(id: string): boolean {
    return this.#seqOf(id) > 0;
  }

  get(id: string): StoredMessage | undefined {
    const row = firstRow(this.#sql, `SELECT * FROM message WHERE seq = ?`, this.#seqOf(id));
    return row === undefined ? undefined : this.#messageFrom(row);
  }

  newest(): StoredMessage | undefined {
    const row = firstRow(this.#sql, `SELECT * FROM message ORDER BY seq DESC LIMIT 1`);
    return row === undefined ? undefined : this.#messageFrom(row);
  }

  /**
   * Removes the messages after a question, so that it can be answered again. `messageId` names the question
   * or one of its answers. Default: the newest question.
   */
  removeAnswers(messageId: string | undefined): void {
    const seq = this.#questionOf(messageId);
    if (seq > 0) this.#removeAfter(seq);
  }

  /** True if `removeAnswers` would find a question. */
  hasQuestion(messageId: string | undefined): boolean {
    return this.#questionOf(messageId) > 0;
  }

  #questionOf(messageId: string | undefined): number {
    const named = messageId === undefined ? Number.MAX_SAFE_INTEGER : this.#seqOf(messageId);
    const row = firstRow(
      this.#sql,
      `SELECT max(seq) AS seq FROM message WHERE role = 'user' AND seq <= ?`,
      named,
    );
    return row === undefined ? 0 : numberIn(row, "seq");
  }

  /** Returns the first message written after `seq`. Used to read all messages one by one, oldest first. */
  following(seq: number): { readonly seq: number; readonly message: StoredMessage } | undefined {
    const row = firstRow(
      this.#sql,
      `SELECT * FROM message WHERE seq > ? ORDER BY seq LIMIT 1`,
      seq,
    );
    return row && { seq: numberIn(row, "seq"), message: this.#messageFrom(row) };
  }

  /** The sequence number of the newest message. Grows with each message. */
  lastSeq(): number {
    const row = firstRow(this.#sql, `SELECT max(seq) AS seq FROM message`);
    return row === undefined ? 0 : numberIn(row, "seq");
  }

  count(): number {
    const row = firstRow(this.#sql, `SELECT count(*) AS total FROM message`);
    return row === undefined ? 0 : numberIn(row, "total");
  }

  /** When the newest message was written, in milliseconds since 1970. */
  lastMs(): number | undefined {
    const newest = this.#recent?.at(-1)?.message;
    if (newest !== undefined) return Date.parse(newest.createdAt);
    const row = firstRow(this.#sql, `SELECT created_at FROM message ORDER BY seq DESC LIMIT 1`);
    return row === undefined ? undefined : numberIn(row, "created_at");
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
    this.#recent = undefined;
    this.#atomically(() => {
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

  /** The sequence number of a message. 0 for an unknown id. */
  #seqOf(id: string): number {
    if (this.#recent?.length === 0) return 0;
    const row = firstRow(
      this.#sql,
      `SELECT seq FROM message WHERE id = ? ORDER BY seq DESC LIMIT 1`,
      id,
    );
    return row === undefined ? 0 : numberIn(row, "seq");
  }

  #messageFrom(row: SqlRow): StoredMessage {
    const chunks = optionalTextIn(row, "chunks");
    const body = chunks === undefined ? textIn(row, "body") : readText(this.#chunks, chunks);
    // `add` wrote these columns.
    return {
      id: textIn(row, "id"),
      role: textIn(row, "role") as StoredMessage["role"],
      ...(JSON.parse(body) as Omit<StoredMessage, "id" | "role" | "createdAt">),
      createdAt: new Date(numberIn(row, "created_at")).toISOString(),
    };
  }
}

function bodyOf(message: StoredMessage): string {
  return JSON.stringify({ ...message, id: undefined, role: undefined, createdAt: undefined });
}

/** Messages, oldest first, each with its size in characters. */
type Recent = readonly { readonly chars: number; readonly message: StoredMessage }[];

/** Counts the newest messages that fit into a prompt together, at least one. `sizes` are newest first. */
function newestThatFit(sizes: readonly number[], maxChars: number): number {
  let used = 0;
  const above = sizes.findIndex((chars, index) => {
    used += chars;
    return used > maxChars && index > 0;
  });
  return Math.min(above < 0 ? sizes.length : above, limits.maxHistoryMessages);
}

/** Drops fields that only people see. They may be megabytes long. */
function forPrompt({ id, role, parts, tainted, createdAt }: StoredMessage): StoredMessage {
  return compact({ id, role, parts, tainted, createdAt });
}

/** Converts a message to the form of AI SDK clients. */
export function toUIMessage(message: StoredMessage, form: MessageForm): UIMessage {
  const { id, role, parts, display, metadata } = message;
  let texts = 0;
  const shown = parts.map((part) => {
    if (part.type !== "text") return part;
    const text = display?.[texts++];
    return form === "display" && text !== undefined ? { ...part, text } : part;
  });
  return compact({ id, role, parts: shown, metadata });
}
