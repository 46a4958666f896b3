import { isToolUIPart } from "ai";
import type { Sql } from "../../src/store/rows/sql.ts";
import { History } from "../../src/turn/history/history.ts";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import { Journal, type JournalEntry } from "../../src/turn/log/journal.ts";

type ToolPart = Extract<StoredMessage["parts"][number], { readonly toolCallId: string }>;

/** Returns the calls of an answer by their ids in the plan. A model may reuse its own ids. */
export function callsIn({ id, parts }: Pick<StoredMessage, "id" | "parts">) {
  const calls = new Map<string, ToolPart>();
  let step = -1;
  let call = 0;
  for (const part of parts) {
    if (part.type === "step-start") {
      step++;
      call = 0;
    }
    if (isToolUIPart(part)) calls.set(`t${turnOf(id)}s${step}c${call++}`, part);
  }
  return calls;
}

function turnOf(answer: string): string {
  return answer.replace("answer-", "");
}

/**
 * Returns the calls with stored results, in a message or in the journal of the running turn: the model's ids
 * by the ids in the plan.
 */
export function committedCalls(sql: Sql): ReadonlyMap<string, string> {
  const calls = new Map<string, string>();
  const { messages } = new History(sql).page({ limit: 100 });
  for (const [id, { toolCallId, state }] of messages.flatMap((message) => [...callsIn(message)])) {
    if (state.startsWith("output-")) calls.set(id, toolCallId);
  }
  const journal = new Journal(sql);
  const answer = journal.head()?.id ?? "";
  const ids = new Map<string, string>();
  const parts: StoredMessage["parts"][number][] = [];
  for (const { step, chunks = [] } of entriesIn(journal)) {
    if (step !== undefined) {
      parts.push(...step.parts);
      for (const [id, { toolCallId }] of callsIn({ id: answer, parts })) ids.set(toolCallId, id);
    }
    for (const chunk of chunks) {
      const isResult = chunk.type === "tool-output-available" || chunk.type === "tool-output-error";
      if (isResult) calls.set(ids.get(chunk.toolCallId) ?? "", chunk.toolCallId);
    }
  }
  return calls;
}

function entriesIn(journal: Journal): readonly JournalEntry[] {
  return journal
    .read()
    .split("\n")
    .filter((line) => line.startsWith("j"))
    .map((line) => JSON.parse(line.slice(1)) as JournalEntry);
}
