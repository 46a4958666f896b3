import * as limits from "../../limits.ts";
import { withTimeLimit } from "../../value/deadline.ts";
import type { Agent } from "../agent.ts";
import type { History } from "./history.ts";
import { type HistoryRecord, historyRecord } from "./history-record.ts";

/**
 * Replaces the outline's newest lines by the text that the agent's `summarize` returns for their turns. Once
 * for each compaction, and only while `isCurrent` says that the history is that of the conversation. Rejects with what `summarize` throws, or after `modelSilenceMs`; then the lines stay.
 */
export async function summarizeOutline(
  history: History,
  { summarize }: Pick<Agent, "summarize">,
  isCurrent: () => boolean,
): Promise<void> {
  const { compaction } = history;
  // A conversation that is deleted meanwhile must not be written to.
  const lines = summarize === undefined || !isCurrent() ? [] : compaction.takeLines();
  const [first] = lines;
  if (summarize === undefined || first === undefined) return;
  const records: HistoryRecord[] = [];
  let turn = first.from - 1;
  for (const { message } of history.between(first.seq - 1, compaction.compacted?.seq ?? 0)) {
    if (message.role === "user") turn++;
    records.push(historyRecord(message, turn));
  }
  const turns = Map.groupBy(records, (record) => record.turn);
  const work = (signal: AbortSignal) => summarize([...turns.values()], { signal });
  const text: unknown = await withTimeLimit(limits.modelSilenceMs, work);
  if (typeof text === "string" && text.trim() !== "" && isCurrent())
    compaction.summarize(lines, text);
}
