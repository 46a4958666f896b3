import type { NewEvent } from "../../turn/log/event-log.ts";
import type { Remains } from "../../turn/log/log-lines.ts";
import { recoverTurn, resumeTurn, runTurn, type TurnResult } from "../../turn/turn.ts";
import { decidedIn, waitingCalls } from "../../turn/waiting-calls.ts";
import type { ConversationContext } from "../conversation-context.ts";
import type { ConversationData } from "../conversation-data.ts";
import { attempt, type TurnStart } from "./attempt.ts";
import { questionOf } from "./question.ts";
import { recordRemains, recordTools } from "./tool-events.ts";
import type { TurnRequest } from "./turn-request.ts";

/** Runs a turn: its chunks are written to the log, and its events are added for the caller to write. */
export function answerTurn(
  context: ConversationContext,
  turn: TurnRequest,
  start: TurnStart,
): Promise<TurnResult> {
  const { store, history, events, postKeys } = start.data;
  const { approvals, conversation = "" } = turn;
  const begin = (id: string) => {
    events.add({ type: "turn.started", turn: id });
    context.onTurnBegin(id);
    if (start.post !== undefined) postKeys.add(start.post, id, Date.now());
  };
  if (approvals !== undefined) {
    const newest = history.newest();
    const id = newest?.id ?? "";
    const recorded = recordedTurn(start.data, id, waitingCalls(newest).values());
    return attempt(context, { ...start, ...recorded, conversation }, (options) => {
      decidedIn(history.newest(), approvals);
      begin(id);
      return resumeTurn(options, approvals);
    });
  }
  const id = crypto.randomUUID();
  const recorded = recordedTurn(start.data, id, []);
  return attempt(context, { ...start, ...recorded, conversation }, async (options) => {
    const question = await questionOf(turn, start.data, start.post);
    if (turn.input !== undefined) await store.save({ name: "input", value: turn.input });
    begin(id);
    return runTurn(options, { ...question, id });
  });
}

/** Continues a turn that a crash cut off. */
export function recoverAnswer(
  context: ConversationContext,
  remains: Remains,
  start: TurnStart,
): Promise<TurnResult> {
  const { journal, events } = start.data;
  const { id = "", conversation = "", trace: traceparent } = journal.head() ?? {};
  recordRemains(events, id, start.log.slice(0, 0));
  events.add({ type: "turn.recovered", turn: id });
  const recorded = recordedTurn(start.data, id, remains.calls);
  const about = { conversation, traceparent, recovered: true } as const;
  return attempt(context, { ...start, ...recorded, ...about }, (options) => {
    context.onTurnBegin();
    return recoverTurn(options, remains);
  });
}

/** `calls`: those that began before this attempt. */
function recordedTurn(
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
