import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { firstRow, hasTable, type Sql, textIn } from "../../store/rows/sql.ts";

/** What was posted, as far as it takes to tell when it is posted again. */
export interface Post {
  /** Of the question's message, if its client has given it one, and asks for no other answer. */
  readonly messageId?: string;
  /** Of the question's parts. */
  readonly partsDigest: string;
  readonly idempotencyKey?: string;
  /** Of all that was asked for. */
  readonly digest: string;
}

/** Is it the same question, from a client that may not know that it has arrived? */
export function isSameQuestion(some: Post, other: Post): boolean {
  const { messageId, partsDigest } = some;
  if (messageId === undefined) return false;
  return messageId === other.messageId && partsDigest === other.partsDigest;
}

/** Throws `idempotency_mismatch` if the same key was given for something else. */
export function isSameKey(some: Post, other: Pick<Post, "idempotencyKey" | "digest">): boolean {
  const { idempotencyKey, digest } = some;
  if (idempotencyKey === undefined || idempotencyKey !== other.idempotencyKey) return false;
  if (digest === other.digest) return true;
  const message = "This Idempotency-Key was given with another body; take a new one.";
  throw new ByrefError("idempotency_mismatch", message);
}

/** Keys that clients have given in the last 24 hours. The table is made when the first one comes. */
export class PostKeys {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The turn that the key was given for; throws `idempotency_mismatch`. */
  turnOf(post: Post, nowMs: number): string | undefined {
    if (post.idempotencyKey === undefined || !hasTable(this.#sql, "post")) return undefined;
    const row = firstRow(
      this.#sql,
      `SELECT digest, turn FROM post WHERE key = ? AND at > ?`,
      post.idempotencyKey,
      nowMs - limits.idempotencyMs,
    );
    if (row === undefined) return undefined;
    isSameKey(post, { idempotencyKey: post.idempotencyKey, digest: textIn(row, "digest") });
    return textIn(row, "turn");
  }

  /** Part of a transaction. */
  add({ idempotencyKey, digest }: Post, turn: string, nowMs: number): void {
    if (idempotencyKey === undefined) return;
    this.#sql.run(
      `CREATE TABLE IF NOT EXISTS post
       (key TEXT PRIMARY KEY, digest TEXT NOT NULL, turn TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID`,
    );
    this.#sql.run(`DELETE FROM post WHERE at <= ?`, nowMs - limits.idempotencyMs);
    this.#sql.run(
      `INSERT OR REPLACE INTO post (key, digest, turn, at) VALUES (?, ?, ?, ?)`,
      idempotencyKey,
      digest,
      turn,
      nowMs,
    );
  }
}
