import * as limits from "../../limits.ts";
import { firstRow, type Sql, textIn } from "../../store/rows/sql.ts";
import { byteLength } from "../../value/utf8.ts";
import type { StoredMessage } from "./stored-message.ts";
import { type HistoryRecord, historyRecord } from "./history-record.ts";
import { charsOf, folded, type Outline, outlineLine, type OutlineLine } from "./outline.ts";

/** The turns that prompts have in outline only. */
export interface Compacted extends Outline {
  /** The last message of them. */
  readonly seq: number;
  readonly turns: number;
  /** Counts the compactions. */
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The size of all records as a JSON array. */
  readonly chars: number;
  readonly bytes: number;
  /** True if a model had seen untrusted content when it wrote one of the messages. */
  readonly isTainted: boolean;
}

/** A stored message with its size as JSON and its place in the history. */
export interface SizedMessage {
  readonly seq: number;
  readonly chars: number;
  readonly message: StoredMessage;
}

export interface CompactionOptions {
  /** Characters of earlier messages in a prompt. */
  readonly maxChars: number;
  /** True for a name that a variable has, or had. */
  readonly isTaken: (name: string) => boolean;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Knows which turns prompts have in outline only. What is compacted stays compacted until one of its messages
 * is removed. One row of `meta`; a change of its content needs another key.
 */
export class Compaction {
  readonly #sql: Sql;
  /** Null if nothing is compacted. */
  #compacted: Compacted | null | undefined;

  constructor(sql: Sql, isNew: boolean) {
    this.#sql = sql;
    if (isNew) this.#compacted = null;
  }

  /** Undefined if nothing is compacted. The same object until that changes. Costs one row read at most. */
  get compacted(): Compacted | undefined {
    if (this.#compacted === undefined) {
      const row = firstRow(this.#sql, `SELECT value FROM meta WHERE key = '${KEY}'`);
      this.#compacted = row === undefined ? null : (JSON.parse(textIn(row, "value")) as Compacted);
    }
    return this.#compacted ?? undefined;
  }

  /** Compacts further messages, oldest first. Writes one row. */
  add(messages: Iterable<SizedMessage>, { maxChars, isTaken, nowMs }: CompactionOptions): void {
    const before = this.compacted;
    const now = new Date(nowMs).toISOString();
    const added = new Added(before, shareOf(maxChars));
    for (const message of messages) added.add(message);
    this.#write({
      ...added.end(),
      variable: before?.variable ?? freeName(isTaken),
      version: (before?.version ?? 0) + 1,
      createdAt: before?.createdAt ?? now,
      updatedAt: now,
    });
  }

  /** Replaces lines by a summary of their turns, unless they have changed meanwhile. Writes one row. */
  summarize(lines: readonly OutlineLine[], text: string): void {
    const { compacted } = this;
    const at = compacted?.lines.findIndex(({ from }) => from === lines[0]?.from) ?? -1;
    const [first, last] = [lines[0], lines.at(-1)];
    if (compacted === undefined || at < 0 || first === undefined || last === undefined) return;
    const current = compacted.lines.slice(at, at + lines.length);
    if (JSON.stringify(current) !== JSON.stringify(lines)) return;
    const isTainted = lines.some((line) => line.isTainted === true);
    const summary = { from: first.from, to: last.to, text, ...(isTainted && { isTainted }) };
    this.#write({ ...compacted, lines: compacted.lines.toSpliced(at, lines.length, summary) });
  }

  /** Call this when too few messages are left after the compacted ones. The next prompt compacts anew. */
  reset(): void {
    if (this.compacted === undefined) return;
    this.#sql.run(`DELETE FROM meta WHERE key = '${KEY}'`);
    this.#compacted = null;
  }

  /** Discards the state in memory after a rollback. */
  forget(): void {
    this.#compacted = undefined;
  }

  #write(compacted: Compacted): void {
    this.#sql.run(
      `INSERT INTO meta (key, value) VALUES ('${KEY}', ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      JSON.stringify(compacted),
    );
    this.#compacted = compacted;
  }
}

const KEY = "outline";

/** Adds messages to what is compacted. Holds the lines of the outline, and one turn. */
class Added {
  readonly #maxChars: number;
  #lines: readonly OutlineLine[];
  #turn: HistoryRecord[] = [];
  #isTaintedTurn = false;
  #sums: Pick<Compacted, "seq" | "turns" | "chars" | "bytes" | "isTainted">;

  constructor(before: Compacted | undefined, maxChars: number) {
    const { seq = 0, turns = 0, chars = 1, bytes = 1, isTainted = false } = before ?? {};
    this.#maxChars = maxChars;
    this.#lines = before?.lines ?? [];
    this.#sums = { seq, turns, chars, bytes, isTainted };
  }

  add({ seq, message }: SizedMessage): void {
    if (message.role === "user") this.#endTurn();
    const turns = this.#sums.turns + (message.role === "user" ? 1 : 0);
    const record = historyRecord(message, turns);
    this.#turn.push(record);
    this.#isTaintedTurn ||= message.tainted === true;
    const json = JSON.stringify(record);
    const { chars, bytes, isTainted } = this.#sums;
    // Each record takes a comma or the closing bracket too.
    const sizes = { chars: chars + json.length + 1, bytes: bytes + byteLength(json) + 1 };
    this.#sums = { seq, turns, ...sizes, isTainted: isTainted || message.tainted === true };
  }

  end() {
    this.#endTurn();
    return { ...this.#sums, lines: this.#lines };
  }

  #endTurn(): void {
    const [first] = this.#turn;
    if (first === undefined) return;
    const isTainted = this.#isTaintedTurn && { isTainted: true as const };
    const line = { from: first.turn, to: first.turn, text: outlineLine(this.#turn), ...isTainted };
    this.#lines = folded([...this.#lines, line], this.#maxChars);
    this.#turn = [];
    this.#isTaintedTurn = false;
  }
}

/**
 * Returns the last message to compact, so that outline and messages take at most half of the budget;
 * undefined if they fit into the budget. Leaves an eighth of the budget to the calls of the running turn. The
 * newest question and the two turns before it are kept, unless these are more than `maxHistoryChars`.
 * `recent`: the newest messages, oldest first.
 */
export function lastToCompact(
  recent: readonly SizedMessage[],
  { compacted, maxChars }: { readonly compacted: Compacted | undefined; readonly maxChars: number },
): number | undefined {
  const { seq: done = 0, lines = [] } = compacted ?? {};
  const hasAll = (recent[0]?.seq ?? done + 1) === done + 1;
  const chars = recent.reduce((sum, message) => sum + message.chars, charsOf(lines));
  if (hasAll && chars <= maxChars - maxChars / 8) return undefined;
  let first: number | undefined;
  let kept = 0;
  let turns = 0;
  for (const { seq, chars: size, message } of recent.toReversed()) {
    kept += size;
    if (message.role !== "user") continue;
    const room = turns <= KEPT_TURNS ? limits.maxHistoryChars : shareOf(maxChars);
    if (turns > 0 && kept > room) break;
    first = seq;
    turns++;
  }
  return first === undefined || first - 1 <= done ? undefined : first - 1;
}

/** The turns before the newest question that are not compacted. */
export const KEPT_TURNS = 2;

/** The part of the budget for the outline, and for the messages that are left. */
function shareOf(maxChars: number): number {
  return Math.min(maxChars / 4, limits.maxHistoryChars);
}

/** Returns the first of `history`, `history_1` … that no variable has or had. */
function freeName(isTaken: CompactionOptions["isTaken"]): string {
  for (let number = 0; ; number++) {
    const name = number === 0 ? NAME : `${NAME}_${number}`;
    if (!isTaken(name)) return name;
  }
}

const NAME = "history";
