import { ByrefError } from "../errors.ts";
import type { StoredMessage } from "../turn/history.ts";
import { type TakenIn, takeIn } from "../turn/take-in.ts";
import type { ConversationData } from "./conversation-data.ts";
import type { TurnRequest, UserMessage } from "./requests.ts";

/**
 * What is asked now; undefined if a question that is there is answered again. Removes from the history
 * what the new answer stands in for. Throws `bad_request`.
 */
export async function questionOf(
  turn: TurnRequest,
  { history, store }: Pick<ConversationData, "history" | "store">,
): Promise<StoredMessage | undefined> {
  const { isRepeated, message, messageId } = turn;
  const isThere = messageId !== undefined && history.has(messageId);
  if (isRepeated === true && (isThere || message === undefined)) {
    if (history.removeAnswers(messageId)) return undefined;
    throw nothingToRepeat();
  }
  if (message === undefined) throw nothingToRepeat();
  const urlOf = (name: string) => `/conversations/${turn.conversation ?? ""}/variables/${name}`;
  const taken = await takeIn(message.parts, { store, urlOf });
  if (isThere && isRepeated !== true) history.removeFrom(messageId);
  return questionFrom(message, taken);
}

export function nothingToRepeat(): ByrefError {
  return new ByrefError("bad_request", "There is no message here that could be answered again.");
}

function questionFrom(message: UserMessage, taken: TakenIn): StoredMessage {
  return {
    id: message.id ?? crypto.randomUUID(),
    role: "user",
    ...taken,
    createdAt: new Date().toISOString(),
  };
}
