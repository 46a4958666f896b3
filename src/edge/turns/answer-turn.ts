import type { NewEvent } from "../../turn/log/event-log.ts";
import type { Remains } from "../../turn/log/log-lines.ts";
import { recoverTurn, resumeTurn, runTurn, type TurnResult } from "../../turn/turn.ts";
import { decidedIn, waitingCalls } from "../../turn/waiting-calls.ts";
import type { ConversationData } from "../conversation-data.ts";
import { attempt, type TurnStart } from "./attempt.ts";
import { questionOf } from "./question.ts";
import type { TurnRequest } from "./turn-request.ts";
import { recordRemains, recordTools } from "./tool-events.ts";

/**
 * Runs a turn in a conversation; its chunks go to the log, and what happened to the events, which the
 * caller writes.
 */
export async function answerTurn(
  data: ConversationData,
  turn: TurnRequest,
  start: TurnStart,
): Promise<TurnResult> {
  const { store, history, events, postKeys } = data;
  const { approvals, conversation = "" } = turn;
  const begin = (id: string) => {
    events.add({ type: "turn.started", turn: id });
    start.onBegin(id);
    if (start.post !== undefined) postKeys.add(start.post, id, Date.now());
  };
  if (approvals !== undefined) {
    const newest = history.newest();
    const id = newest?.id ?? "";
    const about = { conversation, ...recorded(data, id, waitingCalls(newest).values()) };
    return attempt(data, { ...start, ...about }, (options) => {
      decidedIn(history.newest(), approvals);
      begin(id);
      return resumeTurn(options, approvals);
    });
  }
  const id = crypto.randomUUID();
  return attempt(data, { ...start, conversation, ...recorded(data, id, []) }, async (options) => {
    const question = await questionOf(turn, data, start.post);
    if (turn.input !== undefined) await store.save({ name: "input", value: turn.input });
    begin(id);
    return runTurn(options, { ...question, id });
  });
}

/** Goes on with a turn that a crash cut off. */
export function recoverAnswer(
  data: ConversationData,
  remains: Remains,
  start: TurnStart,
): Promise<TurnResult> {
  const { id = "", conversation = "", trace: traceparent } = data.journal.head() ?? {};
  recordRemains(data.events, id, start.log.slice(0, 0));
  data.events.add({ type: "turn.recovered", turn: id });
  const calls = recorded(data, id, remains.calls);
  const about = { conversation, traceparent, recovered: true, ...calls } as const;
  return attempt(data, { ...start, ...about }, (options) => {
    start.onBegin();
    return recoverTurn(options, remains);
  });
}

/** `calls`: those of which this attempt does not see the beginning. */
function recorded(
  { events }: ConversationData,
  id: string,
  calls: Parameters<typeof recordTools>[2],
) {
  return {
    turn: id,
    emit: recordTools(events, id, calls),
    emitInner: () => recordTools(events, id, []),
    ended: ({ error }: TurnResult): NewEvent =>
      error === undefined
        ? { turn: id, type: "turn.done" }
        : { turn: id, type: "turn.failed", code: error.code },
  };
}
