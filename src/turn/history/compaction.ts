import * as limits from "../../limits.ts";
import { isToolUIPart, type ModelMessage } from "ai";
import type { VariableStore } from "../../store/variables.ts";
import { byteLength } from "../../value/encoding.ts";
import { shortHash } from "../../value/short-hash.ts";
import { type Agent, isOffered, referencesOf } from "../agent.ts";
import type { StoredMessage } from "./stored-message.ts";
import {
  historyRecord,
  type HistoryRecord,
  type RecordedCall,
  variablesIn,
} from "./history-record.ts";
import { writerIn } from "../../reference/syntaxes.ts";
import { clip, inOneLine } from "../../value/characters.ts";

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

/** How turns are compacted: for an agent, in a conversation with these variables, at a time in milliseconds since 1970. */
export interface CompactionOptions {
  readonly agent: Pick<Agent, "historyChars">;
  readonly store: Pick<VariableStore, "glance" | "tombstone">;
  readonly nowMs: number;
}

/** False if no compacted message has this id. Saves a scan of all messages. */
export function mayHave(compacted: Compacted | undefined, id: string): boolean {
  return compacted !== undefined && (compacted.ids?.includes(idDigest(id)) ?? true);
}

/** Compacts further messages, oldest first. Holds the lines of the outline, and one turn. */
export function compactedWith(
  before: Compacted | undefined,
  added: Iterable<SizedMessage>,
  { agent, store, nowMs }: CompactionOptions,
): Compacted {
  const now = new Date(nowMs).toISOString();
  const { variable = freeName(store), version = 0, createdAt = now } = before ?? {};
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
    lines = fold([...lines, isTaintedTurn ? { ...line, isTainted: true } : line], shareOf(agent));
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
  agent: CompactionOptions["agent"],
): number | undefined {
  const { historyChars: maxChars = limits.historyChars } = agent;
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
    const room = turns <= KEPT_TURNS ? limits.maxHistoryChars : shareOf(agent);
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
function shareOf({ historyChars = limits.historyChars }: CompactionOptions["agent"]): number {
  return Math.min(historyChars / 4, limits.maxHistoryChars);
}

/** Returns the first of `history`, `history_1` … that no variable has or had. */
function freeName(store: CompactionOptions["store"]): string {
  let name = "history";
  const isTaken = () => (store.glance(name) ?? store.tombstone(name)) !== undefined;
  for (let number = 1; isTaken(); number++) name = `history_${number}`;
  return name;
}

/** A turn in the outline; its question, its answer and each of its calls. */
const MAX_LINE_CHARS = 480;
const MAX_TEXT_CHARS = 160;

/** A part of an outline: one turn, or a summary of several. */
export interface OutlineLine {
  /** The first and the last turn that the line describes. */
  readonly from: number;
  readonly to: number;
  /** The first message of them. */
  readonly seq: number;
  readonly text: string;
  readonly isSummary?: true;
  /** True if a model had seen untrusted content when it wrote what the line repeats. */
  readonly isTainted?: true;
}

/** The outline of the turns before the messages of a prompt. */
export interface Outline {
  /** The name of the variable with all of their messages. */
  readonly variable: string;
  /** Oldest first. Turns before the first line are in the variable only. */
  readonly lines: readonly OutlineLine[];
}

/**
 * Describes a turn in at most `MAX_LINE_CHARS`: its number, time, question, calls with the variables
 * that they made, and answer. The same records always give the same line.
 */
export function outlineLine(records: readonly HistoryRecord[]): string {
  const answers = records.filter(({ role }) => role === "assistant");
  const calls = answers.flatMap(({ tools }) => tools);
  const { turn = 0, at = "" } = records[0] ?? {};
  const time = at.slice(0, 16).replace("T", " ");
  const head = `${turn}. ${time} user: ${quoted(records.filter(({ role }) => role === "user"))}`;
  const tail = answers.length === 0 ? "" : ` assistant: ${quoted(answers)}`;
  return `${head}${listed(calls, MAX_LINE_CHARS - head.length - tail.length)}${tail}`;
}

function quoted(records: readonly HistoryRecord[]): string {
  const text = records.map((record) => record.text).join(" ");
  return `"${startOf(text, MAX_TEXT_CHARS)}"`;
}

/** The start of a text on one line. It can close neither a quotation nor the outline. */
function startOf(text: string, chars: number): string {
  // More than is shown, because white space is collapsed.
  const line = inOneLine(clip(text, 4 * chars)).trim();
  const start = clip(line, chars).replaceAll('"', "'");
  return start.length < line.length ? `${start}…` : start;
}

/** Lists as many calls as fit, and the number of the others. */
function listed(calls: readonly RecordedCall[], room: number): string {
  const written = calls.map(({ name, output, error }) => {
    const made = error === undefined ? variablesIn(output).join(" ") : "failed";
    return startOf(`${name}${made === "" ? "" : ` (${made})`}`, MAX_TEXT_CHARS);
  });
  for (let count = written.length; count > 0; count--) {
    const more = written.length - count;
    const names = written.slice(0, count).join(", ");
    const text = ` calls: ${names}${more === 0 ? "" : ` and ${more} more`}`;
    if (text.length <= room) return text;
  }
  return "";
}

/** A summary in place of lines, at most as long as they are. */
export function summaryLine(lines: readonly OutlineLine[], text: string): OutlineLine | undefined {
  const [first, last] = [lines[0], lines.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const { from, seq } = first;
  const head = `${from} to ${last.to}, summary: `;
  const isTainted = lines.some((line) => line.isTainted === true) && { isTainted: true as const };
  // A line break and an ellipsis are added.
  const summary = startOf(text, Math.max(charsOf(lines) - head.length - 2, 0));
  return { from, to: last.to, seq, text: `${head}${summary}`, isSummary: true, ...isTainted };
}

/** Leaves out the oldest lines of an outline of more than `maxChars`, so that half of it is left. */
export function fold(lines: readonly OutlineLine[], maxChars: number): readonly OutlineLine[] {
  if (charsOf(lines) <= maxChars) return lines;
  let first = 0;
  while (charsOf(lines.slice(first)) > maxChars / 2) first++;
  return lines.slice(first);
}

export function charsOf(lines: readonly OutlineLine[]): number {
  return lines.reduce((chars, { text }) => chars + text.length + 1, 0);
}

/** The outline as a message before all others. It grows at its end until lines are left out. */
export function outlineMessage({ variable, lines }: Outline, agent: Agent): ModelMessage {
  const write = writerIn(referencesOf(agent).syntaxes) ?? String;
  const tools = ["search_variable", "read_variable"].filter((name) => isOffered(name, agent));
  const reading = tools.length === 0 ? "" : `: use ${tools.join(", ")}`;
  const first = lines[0]?.from;
  const content = [
    "<history>",
    `The start of each earlier turn. All of it is in ${write(variable)}, records {turn, at, role, text, tools, variables}${reading}.`,
    ...(first === 1 || first === undefined
      ? []
      : [`1 to ${first - 1}: in ${write(variable)} only.`]),
    ...lines.map(({ text }) => text),
    "</history>",
  ];
  return { role: "user", content: content.join("\n") };
}
