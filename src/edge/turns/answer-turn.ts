import { ByrefError } from "../../errors.ts";
import type { StoredMessage } from "../../turn/history/history.ts";
import { isSameQuestion, type Post } from "../../turn/history/post.ts";
import { type ReceivedMessage, receiveMessage } from "../../turn/history/receive-message.ts";
import type { NewEvent } from "../../turn/log/event-log.ts";
import type { Remains } from "../../turn/log/log-lines.ts";
import {
  type Question,
  recoverTurn,
  resumeTurn,
  runTurn,
  type TurnResult,
} from "../../turn/turn.ts";
import { decidedIn, waitingCalls } from "../../turn/waiting-calls.ts";
import type { ConversationContext } from "../conversation-context.ts";
import type { ConversationData } from "../conversation-data.ts";
import { attempt, type TurnStart } from "./attempt.ts";
import { recordRemains, recordTools } from "./tool-events.ts";
import type { TurnRequest, UserMessage } from "./turn-request.ts";

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

/**
 * What is asked now, without a message if one that is there is answered again. Its files and long texts
 * are saved; the history is as it was. Throws `bad_request`.
 */
async function questionOf(
  turn: TurnRequest,
  { history, store, journal }: Pick<ConversationData, "history" | "store" | "journal">,
  post?: Post,
): Promise<Question> {
  const { isRepeated, message, messageId } = turn;
  const isThere = messageId !== undefined && history.has(messageId);
  if (isRepeated === true && (isThere || message === undefined)) {
    if (!history.hasQuestion(messageId)) throw nothingToRepeat();
    return { replace: () => history.removeAnswers(messageId) };
  }
  if (message === undefined) throw nothingToRepeat();
  // Posted again after its turn failed or was stopped: the message is there, and gets another answer.
  const last = journal.head();
  const hasFailed = last?.ended !== undefined && last.post !== undefined;
  if (hasFailed && post !== undefined && isSameQuestion(post, last.post)) {
    return { replace: () => history.removeAnswers(undefined) };
  }
  const urlOf = (name: string) => `/conversations/${turn.conversation ?? ""}/variables/${name}`;
  const taken = await receiveMessage(message.parts, { store, urlOf });
  const asked = { message: questionFrom(message, taken) };
  const isEdit = isThere && isRepeated !== true;
  return isEdit ? { ...asked, replace: () => history.removeFrom(messageId) } : asked;
}

export function nothingToRepeat(): ByrefError {
  return new ByrefError("bad_request", "There is no message here that could be answered again.");
}

function questionFrom(message: UserMessage, taken: ReceivedMessage): StoredMessage {
  return {
    id: message.id ?? crypto.randomUUID(),
    role: "user",
    ...taken,
    createdAt: new Date().toISOString(),
  };
}
