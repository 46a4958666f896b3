import { ConversationData } from "../../src/edge/conversation-data.ts";
import type { CompactionOptions } from "../../src/turn/history/compaction.ts";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import { NodeSql } from "./node-sql.ts";
import { START_MS } from "./turn.ts";

/** Maximum number of characters of the history in a prompt. */
export const BUDGET = 4_000;

export function dataIn(sql = new NodeSql()): ConversationData {
  return new ConversationData(sql, { bucket: undefined, retention: {}, onAccess: () => undefined });
}

export function optionsFor({ store }: ConversationData, historyChars = BUDGET): CompactionOptions {
  return { agent: { historyChars }, store, nowMs: START_MS };
}

/** A question and its answer, with a call of a tool. */
export function messagesOf(turn: number, chars = 300): readonly [StoredMessage, StoredMessage] {
  const createdAt = new Date(START_MS + turn * 60_000).toISOString();
  const question = { type: "text" as const, text: `Question ${turn}?` };
  const answer = { type: "text" as const, text: `Answer ${turn}, ü ${"x".repeat(chars)}` };
  const called = {
    type: "tool-look" as const,
    toolCallId: `c${turn}`,
    state: "output-available" as const,
    input: { at: turn },
    output: { $var: `look_${turn}`, value: { total: turn * 1_001 } },
  };
  return [
    { id: `q${turn}`, role: "user", parts: [question], createdAt },
    { id: `a${turn}`, role: "assistant", parts: [called, answer], createdAt },
  ];
}

/** A conversation with a number of answered questions and a new one. */
export function afterTurns(turns: number, data = dataIn()): ConversationData {
  for (let turn = 1; turn <= turns; turn++) {
    const [question, answer] = messagesOf(turn);
    data.history.add(question);
    data.history.compact(optionsFor(data));
    data.history.add(answer);
  }
  data.history.add(messagesOf(turns + 1)[0]);
  data.history.compact(optionsFor(data));
  return data;
}
