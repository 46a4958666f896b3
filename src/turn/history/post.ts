import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { firstRow, hasTable, replaceRow, type Sql, textIn } from "../../store/rows/sql.ts";

/** The parts of a posted request by which a repeated request is recognised. */
export interface Post {
  /** The id of the question's message. Absent if the client sent none, or requested another answer. */
  readonly messageId?: string;
  readonly partsDigest: string;
  /** The same of the parts as the history shows them. Absent if they are the same. */
  readonly shownDigest?: string;
  readonly idempotencyKey?: string;
  readonly digest: string;
}

/** True if a post is the same question as an earlier one. A client repeats it if it does not know that it arrived. */
export function isSameQuestion({ messageId, partsDigest }: Post, earlier: Post): boolean {
  if (messageId === undefined || messageId !== earlier.messageId) return false;
  return partsDigest === earlier.partsDigest || partsDigest === earlier.shownDigest;
}

/** True if both have the same key. Throws `idempotency_mismatch` if the requests differ. */
export function isSameKey(some: Post, other: Pick<Post, "idempotencyKey" | "digest">): boolean {
  const { idempotencyKey, digest } = some;
  if (idempotencyKey === undefined || idempotencyKey !== other.idempotencyKey) return false;
  if (digest === other.digest) return true;
  const message = "This Idempotency-Key was used with another body; use a new one.";
  throw new ByrefError("idempotency_mismatch", message);
}

/** Idempotency keys of the last 24 hours. Creates its table on first use. */
export class PostKeys {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Returns the turn of an idempotency key. Throws `idempotency_mismatch`. */
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

  /** Adds a key. Called within a transaction. */
  add({ idempotencyKey, digest }: Post, turn: string, nowMs: number): void {
    if (idempotencyKey === undefined) return;
    this.#sql.run(
      `CREATE TABLE IF NOT EXISTS post
       (key TEXT PRIMARY KEY, digest TEXT NOT NULL, turn TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID`,
    );
    this.#sql.run(`DELETE FROM post WHERE at <= ?`, nowMs - limits.idempotencyMs);
    replaceRow(this.#sql, "post", { key: idempotencyKey, digest, turn, at: nowMs });
  }
}
