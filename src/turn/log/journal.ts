import type { UIMessageChunk } from "ai";
import * as limits from "../../limits.ts";
import { firstRow, numberIn, type Sql, textIn } from "../../store/rows/sql.ts";
import { slicesOf } from "../../value/characters.ts";
import type { Json } from "../../value/json.ts";
import type { Step } from "../history/message-parts.ts";
import type { Post } from "../history/post.ts";
import type { Counts, Spent } from "../spend/spend.ts";
import type { ApprovalResponse } from "../waiting-calls.ts";

/** What a turn is, apart from what it says. */
export interface TurnHead {
  /** Of its answer's message, or of the run. */
  readonly id: string;
  /** A run of a plan is a turn of another kind. */
  readonly kind?: "run";
  /** The turn that waits for a person meanwhile. */
  readonly paused?: Pick<TurnHead, "id" | "needs" | "counts" | "post">;
  /** Counts up from 1 in each conversation, over all of its turns. */
  readonly attempt: number;
  /** The attempt with which this sitting began, if crashes have cut that off. */
  readonly sitting?: number;
  /** False when it has ended, or waits for a person. */
  readonly isOpen: boolean;
  readonly agent: string;
  /** The conversation's id, as its routes have it. */
  readonly conversation: string;
  /** What led to it. */
  readonly post?: Post;
  /** The trace that further attempts belong to: a `traceparent` header, or an id. */
  readonly trace?: string;
  /** What an ended turn spent of its tenant's lease: settled again in case the process died before. */
  readonly lease?: { readonly key: string; readonly spent: Spent };
  /** With what it goes on, if it has waited for a person. */
  readonly approvals?: readonly ApprovalResponse[];
  /** Variables that it needs when it goes on: it waits for a person. */
  readonly needs?: readonly string[];
  /** What it had counted when it began to wait. */
  readonly counts?: TurnCounts;
  /** How it ended, if not well. */
  readonly ended?: "failed" | "stopped";
  /** By the conversation, in all of its turns but this one while it is open or waits. */
  readonly spent: Spent;
}

/** A call that is going to run, or has run: written down before it does. */
export interface JournalCall {
  readonly toolName: string;
  readonly toolCallId: string;
  /** As the model wrote it. */
  readonly input: Json;
  /** A digest of what its references stood for. */
  readonly pin: string;
  /** The same in each attempt. */
  readonly idempotencyKey: string;
  /** A person has allowed it. */
  readonly isApproved?: boolean;
}

/** What is written down before anybody hears of it. */
export interface JournalEntry {
  /** A step of the model's, complete. */
  readonly step?: Step;
  /** What came of calls, and of decisions on them. */
  readonly chunks?: readonly UIMessageChunk[];
  /** Calls that begin now. */
  readonly calls?: readonly JournalCall[];
  readonly state: TurnCounts;
}

/** What a turn has counted so far. */
export interface TurnCounts extends Counts {
  readonly tainted: boolean;
  readonly waiting: Readonly<Record<string, string>>;
}

/** What is written at a turn's end is no longer: the last metadata, and what is smaller. */
const MAX_HEAD_CHARS = 2_000;

/**
 * The newest turn of a conversation in SQLite: its head, and the text of its log, to which is appended.
 * Cost: one row written each time, one more for the head of a log of several rows.
 */
export class Journal {
  readonly #sql: Sql;
  /** Null if there was no turn; undefined until that is known. */
  #head: TurnHead | null | undefined;
  /** The row that is appended to, and what it holds. */
  #end: { part: number; chars: number } | undefined;
  /** The newest attempt of this process; 0: none. */
  #begun = 0;

  constructor(sql: Sql, { isNew = false }: { readonly isNew?: boolean } = {}) {
    this.#sql = sql;
    if (!isNew) return;
    this.#head = null;
    this.#end = { part: 0, chars: 0 };
  }

  /** Of the newest turn, if there was one. */
  head(): TurnHead | undefined {
    if (this.#head === undefined) this.#head = this.#readHead();
    return this.#head ?? undefined;
  }

  /** True if this process has begun the newest attempt, and so lives on after it. */
  get survives(): boolean {
    return this.#begun >= (this.head()?.attempt ?? Infinity);
  }

  /** In the place of the turn before. `text`: less than a row. */
  begin(head: TurnHead, text: string): void {
    const { part } = this.#readEnd();
    this.#begun = head.attempt;
    // Should this fail, nothing is known of what is there.
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
    try {
      this.#append(text, head);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** All of it, or nothing. */
  atomically(work: () => void): void {
    try {
      this.#sql.transaction(work);
    } catch (error) {
      this.forget();
      throw error;
    }
  }

  /** Rows that `append` writes for so many characters and the head, and a little more. */
  rowsFor(chars: number): number {
    const end = this.#readEnd();
    const more = end.chars + chars + MAX_HEAD_CHARS - limits.turnLogRowChars;
    if (more <= 0) return end.part === 0 ? 1 : 2;
    return 1 + Math.ceil((chars + MAX_HEAD_CHARS) / limits.turnLogRowChars);
  }

  /** All that was appended. */
  read(): string {
    const rows = this.#sql.all(`SELECT log FROM turn ORDER BY part`);
    return rows.map((row) => textIn(row, "log")).join("");
  }

  /** What is in memory is read again. */
  forget(): void {
    this.#head = undefined;
    this.#end = undefined;
  }

  #append(text: string, head: TurnHead | undefined): void {
    const end = this.#readEnd();
    const fits = end.chars + text.length <= limits.turnLogRowChars;
    if (head !== undefined) {
      this.#head = head;
      this.#begun = head.attempt;
    }
    if (head !== undefined && !(fits && end.part === 0)) {
      this.#sql.run(`UPDATE turn SET head = ? WHERE part = 0`, JSON.stringify(head));
    }
    if (fits) return this.#extend(end, text, head);
    for (const slice of slicesOf(text, limits.turnLogRowChars)) {
      end.part++;
      end.chars = slice.length;
      this.#sql.run(`INSERT INTO turn (part, log) VALUES (?, ?)`, end.part, slice);
    }
  }

  #extend(end: { part: number; chars: number }, text: string, head: TurnHead | undefined): void {
    if (head !== undefined && end.part === 0) {
      const written = JSON.stringify(head);
      this.#sql.run(`UPDATE turn SET head = ?, log = log || ? WHERE part = 0`, written, text);
    } else if (text !== "") {
      this.#sql.run(`UPDATE turn SET log = log || ? WHERE part = ?`, text, end.part);
    }
    end.chars += text.length;
  }

  #readHead(): TurnHead | null {
    const row = firstRow(this.#sql, `SELECT head FROM turn WHERE part = 0`);
    // `begin` and `append` wrote it.
    return row === undefined ? null : (JSON.parse(textIn(row, "head")) as TurnHead);
  }

  #readEnd(): { part: number; chars: number } {
    if (this.#end !== undefined) return this.#end;
    const row = firstRow(
      this.#sql,
      `SELECT part, length(log) AS chars FROM turn ORDER BY part DESC LIMIT 1`,
    );
    const end = { part: row === undefined ? 0 : numberIn(row, "part"), chars: 0 };
    if (row !== undefined) end.chars = numberIn(row, "chars");
    this.#end = end;
    return end;
  }
}
