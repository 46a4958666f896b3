import { parseExactly } from "../../value/exact-number.ts";
import type { UIMessageChunk } from "ai";
import * as limits from "../../limits.ts";
import { firstRow, type Sql, textIn } from "../../store/rows/sql.ts";
import { slicesOf } from "../../value/characters.ts";
import type { Step } from "../history/message-parts.ts";
import type { Post } from "../history/post.ts";
import type { Identity } from "../../tool/identity.ts";
import type { Counts } from "../spend/account.ts";
import type { Spent } from "../spend/spend.ts";
import type { ApprovalResponse, ToolCall } from "../waiting-calls.ts";

/** The state of a turn, apart from its messages. */
export interface TurnHead {
  /** The id of the answer's message, or of the run. */
  readonly id: string;
  /** Set for a run of a plan. */
  readonly kind?: "run";
  /** The turn that waits for a person meanwhile. */
  readonly paused?: Pick<TurnHead, "id" | "needs" | "counts" | "post" | "asker">;
  /** Counts up from 1 in each conversation, over all of its turns. */
  readonly attempt: number;
  /** The attempt before the first crash, if crashes have cut this turn off. */
  readonly firstAttempt?: number;
  /** False if the turn has ended or waits for a person. */
  readonly isOpen: boolean;
  readonly agent: string;
  /** Who asked. Absent in heads of earlier versions. */
  readonly asker?: Identity;
  /** The conversation's id, as in its routes. */
  readonly conversation: string;
  readonly post?: Post;
  /** The message that the turn answers again. Its answers stay until the new one is complete. */
  readonly repeats?: string;
  /** The trace of further attempts: a `traceparent` header, or an id. */
  readonly trace?: string;
  /** Spending of an ended turn from its tenant's lease. Settled again in case the process died before. */
  readonly lease?: { readonly key: string; readonly spent: Spent };
  /** The approvals with which the turn continues, if it has waited for a person. */
  readonly approvals?: readonly ApprovalResponse[];
  /** Variables that the turn needs when it continues. Set while it waits for a person. */
  readonly needs?: readonly string[];
  /** The counts when the turn began to wait. */
  readonly counts?: TurnCounts;
  /** Set if the turn did not end normally. */
  readonly ended?: "failed" | "stopped";
  /** Spent by the conversation in all of its turns, except this one while it is open or waits. */
  readonly spent: Spent;
}

/** A call that will run or has run. Written before it runs. */
export interface JournalCall extends ToolCall {
  /** A digest of the values that its references resolved to. */
  readonly pin: string;
  /** Identical in each attempt. */
  readonly idempotencyKey: string;
  readonly isApproved?: boolean;
}

/** A change that is written before it is shown. */
export interface JournalEntry {
  readonly step?: Step;
  /** Outcomes of calls, and of decisions on them. */
  readonly chunks?: readonly UIMessageChunk[];
  readonly calls?: readonly JournalCall[];
  readonly state: TurnCounts;
}

export interface TurnCounts extends Counts {
  readonly tainted: boolean;
  readonly waiting: Readonly<Record<string, string>>;
}

/**
 * The newest turn of a conversation in SQLite: its head and the text of its log, which grows by appending.
 * Cost: one row written each time, plus one for the head if the log has several rows.
 */
export class Journal {
  readonly #sql: Sql;
  /** Null if there was no turn. Undefined if it has not been read. */
  #head: TurnHead | null | undefined;
  /** The row that receives appended text, and its length. */
  #end: { part: number; chars: number } | undefined;
  /** The newest attempt of this process. 0 if there was none. */
  #begun = 0;

  constructor(sql: Sql, { isNew = false }: { readonly isNew?: boolean } = {}) {
    this.#sql = sql;
    if (!isNew) return;
    this.#head = null;
    this.#end = { part: 0, chars: 0 };
  }

  /** The head of the newest turn, if there was one. */
  head(): TurnHead | undefined {
    if (this.#head === undefined) {
      const row = firstRow(this.#sql, `SELECT head FROM turn WHERE part = 0`);
      // `begin` and `append` wrote it.
      this.#head = row === undefined ? null : (parseExactly(textIn(row, "head")) as TurnHead);
    }
    return this.#head ?? undefined;
  }

  /** True if this process began the newest attempt, so the process survived it. */
  get survives(): boolean {
    return this.#begun >= (this.head()?.attempt ?? Infinity);
  }

  /** Replaces the previous turn. `text` is shorter than a row. */
  begin(head: TurnHead, text: string): void {
    const { part } = this.#readEnd();
    this.#begun = head.attempt;
    // If this fails, the cached state is no longer valid.
    this.forget();
    if (part > 0) this.#sql.run(`DELETE FROM turn WHERE part > 0`);
    this.#sql.run(
      `INSERT INTO turn (part, head, log) VALUES (0, ?, ?)
       ON CONFLICT (part) DO UPDATE SET head = excluded.head, log = excluded.log`,
      JSON.stringify(head),
      text,
    );
    this.#head = head;
    this.#end = { part: 0, chars: text.length };
  }

  append(text: string, head?: TurnHead): void {
    this.#orForget(() => this.#append(text, head));
  }

  atomically(work: () => void): void {
    this.#orForget(() => this.#sql.transaction(work));
  }

  #orForget(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  read(): string {
    const rows = this.#sql.all(`SELECT log FROM turn ORDER BY part`);
    return rows.map((row) => textIn(row, "log")).join("");
  }

  forget(): void {
    this.#head = undefined;
    this.#end = undefined;
  }

  #append(text: string, head: TurnHead | undefined): void {
    if (text === "" && head === undefined) return;
    const end = this.#readEnd();
    const fits = end.chars + text.length <= limits.turnLogRowChars;
    const isFirst = fits && end.part === 0;
    if (head !== undefined) {
      this.#head = head;
      this.#begun = head.attempt;
    }
    if (head !== undefined || isFirst) {
      const update = `UPDATE turn SET head = coalesce(?, head), log = log || ? WHERE part = 0`;
      this.#sql.run(update, head ? JSON.stringify(head) : null, isFirst ? text : "");
    }
    if (fits) {
      if (!isFirst && text !== "")
        this.#sql.run(`UPDATE turn SET log = log || ? WHERE part = ?`, text, end.part);
      end.chars += text.length;
      return;
    }
    for (const slice of slicesOf(text, limits.turnLogRowChars)) {
      end.part++;
      end.chars = slice.length;
      this.#sql.run(`INSERT INTO turn (part, log) VALUES (?, ?)`, end.part, slice);
    }
  }

  #readEnd(): { part: number; chars: number } {
    if (this.#end !== undefined) return this.#end;
    const newest = `SELECT part, length(log) AS chars FROM turn ORDER BY part DESC LIMIT 1`;
    const { part, chars } = firstRow(this.#sql, newest) ?? { part: 0, chars: 0 };
    return (this.#end = { part: Number(part), chars: Number(chars) });
  }
}
