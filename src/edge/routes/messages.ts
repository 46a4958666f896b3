import { compact } from "../../value/json.ts";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { answerReceipt } from "../../turn/history/answer-receipt.ts";
import type { History } from "../../turn/history/history.ts";
import { type StoredMessage, toUIMessage } from "../../turn/history/stored-message.ts";
import type { Timeline } from "../../turn/history/timeline.ts";
import type { ConversationParts } from "../conversation-parts.ts";
import { type Endpoint, endpoint, parse } from "../http/endpoint.ts";
import { bounded } from "../http/read-body.ts";
import { strictResponse } from "../turns/turn-response.ts";
import { idempotencyKey, oneOf, pageSize, text } from "../http/parameters.ts";
import * as schemas from "../openapi/schemas.ts";
import { locationQuery } from "../placement.ts";
import {
  approvalBody,
  approvalOf,
  chatBody,
  messageBody,
  parseMessage,
  turnIn,
  type TurnRequest,
} from "../turns/turn-request.ts";
import type { Turns } from "../turns/turns.ts";

const headers = { "Idempotency-Key": idempotencyKey };

/** Responses by `Accept`; the default is the stream. */
const answers = {
  200: {
    "text/event-stream": text.describe("UI message stream of the AI SDK, v1"),
    "text/plain": text.describe("The text of the answer, streamed"),
    "application/json": schemas.turn,
  },
};

const form = oneOf(["display", "reference"]);

/** Decides on a call, or on a plan's gate. */
export const approvalEndpoint: Endpoint<ConversationParts> = endpoint(
  "POST /conversations/:id/approvals/:approval",
  { summary: "Approves or denies a tool call", headers, body: approvalBody, answers },
  ({ params: { id, approval }, body, request }, { turns }) =>
    take(turns, request, {
      approvals: [approvalOf(approval, body)],
      run: body.run,
      conversation: id,
    }),
);

/** `request`: its headers have been checked. */
function take(turns: Turns, { headers }: Request, turn: TurnRequest): Promise<Response> {
  const idempotencyKey = headers.get("idempotency-key") ?? undefined;
  return turns.take(bounded({ ...turn, idempotencyKey }), headers);
}

export const messageEndpoints: readonly Endpoint<ConversationParts>[] = [
  endpoint(
    "POST /conversations",
    {
      summary: "Runs a turn with the last message of a useChat body",
      query: { location: locationQuery },
      headers,
      body: chatBody,
      idIn: (body) => parse(chatBody, body).id,
      answers,
    },
    ({ body, request }, { turns }) =>
      take(turns, request, { ...turnIn(body), conversation: body.id }),
  ),
  endpoint(
    "POST /conversations/:id/messages",
    {
      summary: "Runs a turn",
      query: { location: locationQuery },
      headers,
      body: messageBody,
      answers,
    },
    ({ params: { id }, body: { message, ...body }, request }, { turns }) =>
      take(turns, request, { ...body, message: parseMessage(message, id), conversation: id }),
  ),
  endpoint(
    "GET /conversations/:id/messages",
    {
      summary: "Lists messages, newest page first",
      query: {
        limit: pageSize(limits.maxPageSize),
        before: text.optional().describe("The next of the previous page"),
        form: form.prefault("display").describe("With values or references"),
      },
      answers: { 200: { "application/json": schemas.messages } },
    },
    ({ query: { limit, before, form } }, { context: { data } }) => {
      const page = { limit, form, ...compact({ before }) };
      const { messages, ...more } = data?.history.page(page) ?? { messages: [] };
      const shown = messages.map((message) => toUIMessage(message, form));
      return strictResponse({ messages: shown, ...more });
    },
  ),
  endpoint(
    "GET /conversations/:id/messages/:messageId/receipt",
    {
      summary:
        "Returns where the values of an answer came from, and the figures that its model typed",
      answers: { 200: { "application/json": schemas.receipt } },
    },
    ({ params: { messageId } }, { context }) => {
      const { history } = context.requireExisting();
      const message = answerIn(history, messageId);
      const [before] = history.page({ limit: 1, before: messageId }).messages;
      const question = before?.role === "user" ? before : undefined;
      return Response.json(answerReceipt(message, question));
    },
  ),
  endpoint(
    "GET /conversations/:id/messages/:messageId/timeline",
    {
      summary: "Returns the model calls and tool calls of an answer, with their times",
      answers: { 200: { "application/json": schemas.timeline } },
    },
    ({ params: { messageId } }, { context }) => {
      const { timeline = [] } = answerIn(context.requireExisting().history, messageId);
      return Response.json({ message: messageId, attempts: timeline } satisfies Timeline);
    },
  ),
];

function answerIn(history: History, id: string): StoredMessage {
  const message = history.get(id);
  if (message?.role === "assistant") return message;
  throw new ByrefError("not_found", "There is no answer with this id.");
}
