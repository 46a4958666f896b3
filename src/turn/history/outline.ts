import type { ModelMessage } from "ai";
import { writerIn } from "../../reference/syntaxes.ts";
import { clip, inOneLine } from "../../value/characters.ts";
import { type Agent, isOffered, referencesOf } from "../agent.ts";
import { type HistoryRecord, type RecordedCall, variablesIn } from "./history-record.ts";

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
export function folded(lines: readonly OutlineLine[], maxChars: number): readonly OutlineLine[] {
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
