import { ByrefError } from "../errors.ts";
import type { History, StoredMessage } from "../turn/history.ts";
import type { TurnRequest, UserMessage } from "./requests.ts";

/**
 * What is asked now; undefined if a question that is there is answered again. Removes from the history
 * what the new answer stands in for. Throws `bad_request`.
 */
export function questionOf(turn: TurnRequest, history: History): StoredMessage | undefined {
  const { isRepeated, message, messageId } = turn;
  const isThere = messageId !== undefined && history.has(messageId);
  if (isRepeated === true && (isThere || message === undefined)) {
    if (history.removeAnswers(messageId)) return undefined;
    throw nothingToRepeat();
  }
  if (message === undefined) throw nothingToRepeat();
  if (isThere && isRepeated !== true) history.removeFrom(messageId);
  return questionFrom(message);
}

export function nothingToRepeat(): ByrefError {
  return new ByrefError("bad_request", "There is no message here that could be answered again.");
}

function questionFrom(message: UserMessage): StoredMessage {
  return {
    id: message.id ?? crypto.randomUUID(),
    role: "user",
    parts: message.parts,
    createdAt: new Date().toISOString(),
  };
}
