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
import type { MessagePart } from "./message-parts.ts";

/** A message as it is kept: texts as they were written, references and all. */
export interface StoredMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly MessagePart[];
  /** The texts as the person saw them, one for each text part; absent if they are the same. */
  readonly display?: readonly string[];
  readonly metadata?: unknown;
  /** The model had been shown what is not trusted when it wrote this. */
  readonly tainted?: boolean;
  /** Of the calls that wait for a person, by approval: the pin of the input that would run. */
  readonly waiting?: Readonly<Record<string, string>>;
  /** Whose message it is, where it is to go on. */
  readonly agent?: string;
  /** Why the model stopped, if not because all was said. */
  readonly finishReason?: FinishReason;
  readonly createdAt: string;
}

/** Which form of its texts a message is read in. */
export type MessageForm = "display" | "reference";

/** Messages whose sizes are read together. */
const SIZES_AT_ONCE = 50;

interface HistoryOptions {
  /** Of the parts, as JSON, that `window` has together. */
  readonly maxPromptChars?: number;
  /** Nothing was ever written here. */
  readonly isNew?: boolean;
}

/** The messages of one conversation, in the order in which they were written. */
export class History {
  readonly #sql: Sql;
  readonly #chunks: SqlChunks;
  readonly #maxPromptChars: number;
  /** The newest messages, if they were read: the next turn needs them again. Empty: there are none at all. */
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

  /** One row written; a message of over a megabyte takes a row more for each. */
  add(message: StoredMessage): void {
    const { role, parts, createdAt } = message;
    // Ids are cursors: one that a client sends twice names the first message only. Ours are new anyway.
    const isTaken = role === "user" && this.has(message.id);
    const id = isTaken ? crypto.randomUUID() : message.id;
    const body = bodyOf(message);
    const isLarge = byteLength(body) > limits.maxChunkBytes;
    // An id may be used again after an edit: a key of its own, so that nothing is overwritten.
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
    // One statement needs no transaction of its own.
    if (isLarge) this.#atomically(write);
    else write();
    if (this.#recent === undefined) return;
    const recent = [...this.#recent, { chars, message: forPrompt({ ...message, id }) }];
    const fitting = newestThatFit(recent.map((one) => one.chars).reverse(), this.#maxPromptChars);
    this.#recent = recent.slice(-fitting);
  }

  /** What is in memory is read again: a transaction around this history's calls was rolled back. */
  forget(): void {
    this.#recent = undefined;
    this.#chunks.forget();
  }

  /** In the place of the newest, which has the same id. */
  replaceNewest(message: StoredMessage): void {
    this.#atomically(() => {
      this.removeFrom(message.id);
      this.add(message);
    });
  }

  /** Rows that `add` writes for it. */
  rowsFor(message: StoredMessage): number {
    const bytes = byteLength(bodyOf(message));
    return 1 + (bytes > limits.maxChunkBytes ? Math.ceil(bytes / limits.maxChunkBytes) : 0);
  }

  /**
   * The newest messages that fit into a prompt together, oldest first; none is cut. The newest of all is left
   * out if it is `answer`, which goes on: however long it is by now, its question is there.
   */
  window(answer?: string): readonly StoredMessage[] {
    this.#recent ??= this.#readRecent();
    const newest = this.#recent.at(-1)?.message.id;
    const goesOn = newest !== undefined && newest === answer;
    const recent = goesOn ? this.#readRecent(this.#seqOf(newest)) : this.#recent;
    const messages = recent.map(({ message }) => message);
    const firstQuestion = messages.findIndex((message) => message.role === "user");
    return firstQuestion < 0 ? [] : messages.slice(firstQuestion);
  }

  #readRecent(end = Number.MAX_SAFE_INTEGER): Recent {
    const sizes: { readonly seq: number; readonly chars: number }[] = [];
    let fitting = 0;
    // A few at a time: what is older than what fits is not even looked at.
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
   * A page of messages, oldest first: at most `limit`, and at most about 8 MB unless one alone is larger.
   * `before` is a message's id, of an unknown one nothing; `next` is what to give as `before` for more.
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
   * Removes what follows a question, so that it can be answered again: the one that is named or that the
   * named answer belongs to; the newest if none is named.
   */
  removeAnswers(messageId: string | undefined): void {
    const seq = this.#questionOf(messageId);
    if (seq > 0) this.#removeAfter(seq);
  }

  /** Is there a question that `removeAnswers` could find? */
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

  /** One after the other, oldest first: the first that was written after `seq`. */
  following(seq: number): { readonly seq: number; readonly message: StoredMessage } | undefined {
    const row = firstRow(
      this.#sql,
      `SELECT * FROM message WHERE seq > ? ORDER BY seq LIMIT 1`,
      seq,
    );
    return row && { seq: numberIn(row, "seq"), message: this.#messageFrom(row) };
  }

  /** Grows with each message. */
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

  /** Removes a message and what follows it, for an edited one in its place; nothing if it is unknown. */
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

  /** 0 for an unknown one: nothing stands before it. */
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

/** Oldest first, each with the characters that it counts for. */
type Recent = readonly { readonly chars: number; readonly message: StoredMessage }[];

/** How many of the newest messages fit into a prompt together, at least one; sizes newest first. */
function newestThatFit(sizes: readonly number[], maxChars: number): number {
  let used = 0;
  const above = sizes.findIndex((chars, index) => {
    used += chars;
    return used > maxChars && index > 0;
  });
  return Math.min(above < 0 ? sizes.length : above, limits.maxHistoryMessages);
}

/** Without what only people see: that may be megabytes. */
function forPrompt({ id, role, parts, tainted, createdAt }: StoredMessage): StoredMessage {
  return compact({ id, role, parts, tainted, createdAt });
}

/** A message as an AI SDK client has it. */
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
