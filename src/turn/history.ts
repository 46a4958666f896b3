import type { UIMessage } from "ai";
import { limits } from "../limits.ts";
import { firstRow, numberIn, optionalTextIn, type Sql, type SqlRow, textIn } from "../store/sql.ts";
import type { MessagePart } from "./message-parts.ts";

/** A message as it is kept: texts as they were written, references and all. */
export interface StoredMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly MessagePart[];
  /** The texts as the person saw them, one for each text part; absent if they are the same. */
  readonly display?: readonly string[];
  readonly metadata?: unknown;
  readonly createdAt: string;
}

/** Which form of its texts a message is read in. */
export type MessageForm = "display" | "reference";

/** The messages of one conversation, in the order in which they were written. */
export class History {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** One row written. */
  add(message: StoredMessage): void {
    this.#sql.run(
      `INSERT INTO message (id, role, created_at, display, metadata, parts) VALUES (?, ?, ?, ?, ?, ?)`,
      message.id,
      message.role,
      Date.parse(message.createdAt),
      message.display === undefined ? null : JSON.stringify(message.display),
      message.metadata === undefined ? null : JSON.stringify(message.metadata),
      JSON.stringify(message.parts),
    );
  }

  /** The newest messages that fit into `maxChars` together, oldest first; none is cut. */
  window(maxChars: number = limits.maxHistoryChars): readonly StoredMessage[] {
    const sizes = this.#sql.all(
      `SELECT seq, length(parts) AS chars FROM message ORDER BY seq DESC LIMIT 500`,
    );
    let used = 0;
    let oldest = Infinity;
    for (const row of sizes) {
      used += numberIn(row, "chars");
      if (used > maxChars && oldest !== Infinity) break;
      oldest = numberIn(row, "seq");
    }
    if (oldest === Infinity) return [];
    const messages = this.#sql
      .all(`SELECT * FROM message WHERE seq >= ? ORDER BY seq`, oldest)
      .map(messageFrom);
    const firstQuestion = messages.findIndex((message) => message.role === "user");
    return messages.slice(Math.max(firstQuestion, 0));
  }

  /** A page of messages, oldest first; `before` is a message's id. */
  page(options: { readonly limit: number; readonly before?: string }): readonly StoredMessage[] {
    const before = options.before === undefined ? undefined : this.#seqOf(options.before);
    const rows = this.#sql.all(
      `SELECT * FROM message WHERE seq < ? ORDER BY seq DESC LIMIT ?`,
      before ?? Number.MAX_SAFE_INTEGER,
      options.limit,
    );
    return rows.map(messageFrom).reverse();
  }

  newest(): StoredMessage | undefined {
    const row = firstRow(this.#sql, `SELECT * FROM message ORDER BY seq DESC LIMIT 1`);
    return row === undefined ? undefined : messageFrom(row);
  }

  /** Removes the answers behind the newest user message, so that it can be answered again. */
  removeNewestAnswer(): StoredMessage | undefined {
    const row = firstRow(
      this.#sql,
      `SELECT * FROM message WHERE role = 'user' ORDER BY seq DESC LIMIT 1`,
    );
    if (row === undefined) return undefined;
    this.#sql.run(`DELETE FROM message WHERE seq > ?`, numberIn(row, "seq"));
    return messageFrom(row);
  }

  #seqOf(id: string): number | undefined {
    const row = firstRow(
      this.#sql,
      `SELECT seq FROM message WHERE id = ? ORDER BY seq DESC LIMIT 1`,
      id,
    );
    return row === undefined ? undefined : numberIn(row, "seq");
  }
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
  return { id, role, parts: shown, ...(metadata === undefined ? {} : { metadata }) };
}

function messageFrom(row: SqlRow): StoredMessage {
  const display = optionalTextIn(row, "display");
  const metadata = optionalTextIn(row, "metadata");
  // `add` wrote these columns.
  return {
    id: textIn(row, "id"),
    role: textIn(row, "role") as StoredMessage["role"],
    parts: JSON.parse(textIn(row, "parts")) as readonly MessagePart[],
    ...(display === undefined ? {} : { display: JSON.parse(display) as readonly string[] }),
    ...(metadata === undefined ? {} : { metadata: JSON.parse(metadata) as unknown }),
    createdAt: new Date(numberIn(row, "created_at")).toISOString(),
  };
}
