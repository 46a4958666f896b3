import { isToolUIPart } from "ai";
import * as limits from "../../limits.ts";
import type { VariableStore } from "../../store/variables.ts";
import { byteLength } from "../../value/encoding.ts";
import { shortHash } from "../../value/short-hash.ts";
import type { Agent } from "../agent.ts";
import type { StoredMessage } from "./stored-message.ts";
import { historyRecord } from "./history-record.ts";
import {
  charsOf,
  folded,
  type Outline,
  outlineLine,
  type OutlineLine,
  summaryLine,
} from "./outline.ts";

/** The turns that prompts have in outline only. */
export interface Compacted extends Outline {
  /** The last message of them. */
  readonly seq: number;
  readonly turns: number;
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The size of all records as a JSON array. */
  readonly chars: number;
  readonly bytes: number;
  /** True if a model had seen untrusted content when it wrote one of the messages. */
  readonly isTainted: boolean;
  /** Digests of the messages' ids, one after the other. Absent if there are more than `MAX_IDS`. */
  readonly ids?: string | undefined;
  /** True once the newest lines were taken to be summarized. */
  readonly isTaken?: true;
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

/** How the agent's turns compact the history. */
export function compactionFor(
  { historyChars = limits.historyChars }: Pick<Agent, "historyChars">,
  store: Pick<VariableStore, "glance" | "tombstone">,
  nowMs: number,
): CompactionOptions {
  const isTaken = (name: string) => (store.glance(name) ?? store.tombstone(name)) !== undefined;
  return { maxChars: historyChars, isTaken, nowMs };
}

/** False if no compacted message has this id. Saves a scan of all messages. */
export function mayHave(compacted: Compacted | undefined, id: string): boolean {
  return compacted !== undefined && (compacted.ids?.includes(idDigest(id)) ?? true);
}

/** Compacts further messages, oldest first. Holds the lines of the outline, and one turn. */
export function compactedWith(
  before: Compacted | undefined,
  added: Iterable<SizedMessage>,
  { maxChars, isTaken, nowMs }: CompactionOptions,
): Compacted {
  const now = new Date(nowMs).toISOString();
  const { variable = freeName(isTaken), version = 0, createdAt = now } = before ?? {};
  let { seq = 0, turns = 0, chars = 1, bytes = 1, isTainted = false, lines = [] } = before ?? {};
  let ids = before === undefined ? "" : before.ids;
  for (const messages of turnsOf(added)) {
    const [{ seq: first, message: question }] = messages;
    if (question.role === "user") turns++;
    const records = messages.map(({ message }) => historyRecord(message, turns));
    for (const json of records.map((record) => JSON.stringify(record))) {
      // Each record takes a comma or the closing bracket too.
      chars += json.length + 1;
      bytes += byteLength(json) + 1;
    }
    const isTaintedTurn = messages.some(({ message }) => message.tainted === true);
    isTainted ||= isTaintedTurn;
    seq = messages.at(-1)?.seq ?? seq;
    if (seq > MAX_IDS) ids = undefined;
    if (ids !== undefined) ids += messages.map(({ message }) => idDigest(message.id)).join("");
    const line = { from: turns, to: turns, seq: first, text: outlineLine(records) };
    lines = folded(
      [...lines, isTaintedTurn ? { ...line, isTainted: true } : line],
      shareOf(maxChars),
    );
  }
  const counts = { seq, turns, chars, bytes, isTainted, lines, ids };
  return { ...counts, variable, version: version + 1, createdAt, updatedAt: now };
}

/** The newest lines, which no summary has replaced. None if they were taken before. */
export function summarizable(compacted: Compacted | undefined): readonly OutlineLine[] {
  const { lines = [], isTaken = false } = compacted ?? {};
  const last = lines.findLastIndex(({ isSummary }) => isSummary === true);
  return isTaken ? [] : lines.slice(last + 1);
}

/** Replaces lines by a summary of their turns. Undefined if they have changed meanwhile. */
export function withSummary(
  compacted: Compacted | undefined,
  lines: readonly OutlineLine[],
  text: string,
): Compacted | undefined {
  const at = compacted?.lines.findIndex(({ from }) => from === lines[0]?.from) ?? -1;
  const summary = summaryLine(lines, text);
  if (compacted === undefined || at < 0 || summary === undefined) return undefined;
  const current = compacted.lines.slice(at, at + lines.length);
  if (JSON.stringify(current) !== JSON.stringify(lines)) return undefined;
  return { ...compacted, lines: compacted.lines.toSpliced(at, lines.length, summary) };
}

const MAX_IDS = 10_000;
const ID_CHARS = 4;

/** One of 1,679,616 texts of `ID_CHARS` characters. */
function idDigest(id: string): string {
  return shortHash(id).padStart(ID_CHARS, "0").slice(-ID_CHARS);
}

/** Splits messages into turns, each of which begins with its question. */
function* turnsOf(
  messages: Iterable<SizedMessage>,
): Generator<[SizedMessage, ...SizedMessage[]], undefined> {
  let turn: [SizedMessage, ...SizedMessage[]] | undefined;
  for (const sized of messages) {
    if (turn !== undefined && sized.message.role === "user") yield turn;
    if (turn === undefined || sized.message.role === "user") turn = [sized];
    else turn.push(sized);
  }
  if (turn !== undefined) yield turn;
}

/**
 * Returns the last message to compact, so that outline and messages take at most half of the budget;
 * undefined if they fit into the budget. Leaves an eighth of the budget to the calls of the running turn. The
 * newest question and the two turns before it are kept, unless these are more than `maxHistoryChars`.
 * `recent`: the newest messages, oldest first.
 */
export function lastToCompact(
  recent: readonly SizedMessage[],
  compacted: Compacted | undefined,
  maxChars: number,
): number | undefined {
  const { seq: done = 0, lines = [] } = compacted ?? {};
  const hasAll = (recent[0]?.seq ?? done + 1) === done + 1;
  const chars = recent.reduce((sum, message) => sum + promptChars(message), charsOf(lines));
  if (hasAll && chars <= maxChars - maxChars / 8) return undefined;
  let first: number | undefined;
  let kept = 0;
  let turns = 0;
  for (const sized of recent.toReversed()) {
    const { seq, message } = sized;
    kept += promptChars(sized);
    if (message.role !== "user") continue;
    const room = turns <= KEPT_TURNS ? limits.maxHistoryChars : shareOf(maxChars);
    if (turns > 0 && kept > room) break;
    first = seq;
    turns++;
  }
  return first === undefined || first - 1 <= done ? undefined : first - 1;
}

/** The characters of a message in a prompt, where roles, and names and ids of calls, are repeated. */
function promptChars({ chars, message: { parts } }: SizedMessage): number {
  return chars + MESSAGE_CHARS + CALL_CHARS * parts.filter(isToolUIPart).length;
}

const MESSAGE_CHARS = 40;
const CALL_CHARS = 130;

/** The turns before the newest question that are not compacted. */
export const KEPT_TURNS = 2;

/** The part of the budget for the outline, and for the messages that are left. */
function shareOf(maxChars: number): number {
  return Math.min(maxChars / 4, limits.maxHistoryChars);
}

/** Returns the first of `history`, `history_1` … that no variable has or had. */
function freeName(isTaken: CompactionOptions["isTaken"]): string {
  let name = "history";
  for (let number = 1; isTaken(name); number++) name = `history_${number}`;
  return name;
}
