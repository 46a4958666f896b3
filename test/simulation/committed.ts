import { isToolUIPart } from "ai";
import type { Sql } from "../../src/store/sql.ts";
import { History } from "../../src/turn/history.ts";
import { Journal, type JournalEntry } from "../../src/turn/journal.ts";

/** The calls whose results are written down: in a message, or in the journal of the turn that runs. */
export function committedCalls(sql: Sql): ReadonlySet<string> {
  const calls = new Set<string>();
  for (const { toolCallId, state } of historyParts(sql)) {
    if (state.startsWith("output-")) calls.add(toolCallId);
  }
  for (const { chunks = [] } of entriesIn(sql)) {
    for (const chunk of chunks) {
      const isResult = chunk.type === "tool-output-available" || chunk.type === "tool-output-error";
      if (isResult) calls.add(chunk.toolCallId);
    }
  }
  return calls;
}

function historyParts(sql: Sql) {
  const { messages } = new History(sql).page({ limit: 100 });
  return messages.flatMap(({ parts }) => parts.filter(isToolUIPart));
}

function entriesIn(sql: Sql): readonly JournalEntry[] {
  return new Journal(sql)
    .read()
    .split("\n")
    .filter((line) => line.startsWith("j"))
    .map((line) => JSON.parse(line.slice(1)) as JournalEntry);
}
