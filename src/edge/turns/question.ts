import { ByrefError } from "../../errors.ts";
import type { StoredMessage } from "../../turn/history/history.ts";
import { isSameQuestion, type Post } from "../../turn/history/post.ts";
import { receiveMessage, type ReceivedMessage } from "../../turn/history/receive-message.ts";
import type { Question } from "../../turn/turn.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { TurnRequest, UserMessage } from "./turn-request.ts";

/**
 * The turn's question. It has no message if a stored question is answered again. Saves the message's files
 * and long texts as variables, and does not change the history. Throws `bad_request`.
 */
export async function questionOf(
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
  // The same post after its turn failed or was stopped: the stored message gets another answer.
  const last = journal.head();
  const hasFailed = last?.ended !== undefined && last.post !== undefined;
  if (hasFailed && post !== undefined && isSameQuestion(post, last.post)) {
    return { replace: () => history.removeAnswers(undefined) };
  }
  const urlOf = (name: string) => `/conversations/${turn.conversation ?? ""}/variables/${name}`;
  const received = await receiveMessage(message.parts, { store, urlOf });
  const question = { message: questionFrom(message, received) };
  const isEdit = isThere && isRepeated !== true;
  return isEdit ? { ...question, replace: () => history.removeFrom(messageId) } : question;
}

export function nothingToRepeat(): ByrefError {
  return new ByrefError("bad_request", "There is no message here that could be answered again.");
}

function questionFrom(message: UserMessage, received: ReceivedMessage): StoredMessage {
  return {
    id: message.id ?? crypto.randomUUID(),
    role: "user",
    ...received,
    createdAt: new Date().toISOString(),
  };
}
