import * as z from "zod";
import * as limits from "../../limits.ts";
import { locationQuery } from "../placement.ts";
import { titleBody } from "../routes/conversations.ts";
import { approvalBody, chatBody, idempotencyKey, messageBody } from "../turns/turn-request.ts";
import { ticketBody } from "../routes/tickets.ts";
import type { Operations } from "./operation.ts";
import { after, json, pageSize, text } from "./parameters.ts";
import * as schemas from "./schemas.ts";

/** By `Accept`, the stream if it asks for nothing else. */
const turnAnswers = {
  200: {
    "text/event-stream": text.describe("UI message stream of the AI SDK, v1"),
    "text/plain": text.describe("The answer's text as it comes"),
    "application/json": schemas.turn,
  },
};

const asksOnce = { "Idempotency-Key": idempotencyKey };

/** Turns, messages, and conversations as a whole. */
export const conversationOperations: Operations = {
  "GET /health": {
    summary: "Says that the Worker runs",
    isOpen: true,
    answers: { 200: json(schemas.health) },
  },
  "GET /openapi.json": {
    summary: "Describes every call: this document",
    answers: { 200: json(z.looseObject({ openapi: z.string() })) },
  },
  "GET /agents": { summary: "Lists the agents", answers: { 200: json(schemas.agents) } },
  "GET /conversations": {
    summary: "Lists the conversations, by last activity",
    query: { limit: pageSize(limits.maxPageSize), before: text.optional() },
    answers: { 200: json(schemas.conversations) },
  },
  "POST /conversations": {
    summary: "Runs a turn, asked as useChat does; only the last message is taken",
    query: { location: locationQuery },
    headers: asksOnce,
    body: json(chatBody),
    answers: turnAnswers,
  },
  "GET /conversations/:id": {
    summary: "Tells of a conversation",
    answers: { 200: json(schemas.conversation) },
  },
  "PATCH /conversations/:id": {
    summary: "Gives it another title",
    body: json(titleBody),
    answers: { 200: json(schemas.conversation) },
  },
  "DELETE /conversations/:id": {
    summary: "Deletes all of it, everywhere",
    answers: { 204: "It is gone" },
  },
  "POST /conversations/:id/messages": {
    summary: "Runs a turn",
    query: { location: locationQuery },
    headers: asksOnce,
    body: json(messageBody),
    answers: turnAnswers,
  },
  "GET /conversations/:id/messages": {
    summary: "Lists the messages, newest page first",
    query: {
      limit: pageSize(limits.maxPageSize),
      before: text.optional().describe("The next of a page"),
      form: z
        .enum(["display", "reference"])
        .default("display")
        .describe("As the person saw them, or as the model wrote them"),
    },
    answers: { 200: json(schemas.messages) },
  },
  "POST /conversations/:id/approvals/:approval": {
    summary: "Decides on a tool call that waits for a person",
    headers: asksOnce,
    body: json(approvalBody),
    answers: turnAnswers,
  },
  "POST /conversations/:id/stop": {
    summary: "Stops the turn that runs",
    answers: { 200: json(schemas.stopped) },
  },
  "GET /conversations/:id/stream": {
    summary: "Streams the running turn from its first part, or from behind one that was had",
    query: { after },
    headers: { "Last-Event-ID": after },
    answers: { 200: { "text/event-stream": text }, 204: "Nothing runs" },
  },
  "GET /conversations/:id/socket": {
    summary: "Opens a WebSocket for WebSocketChatTransport",
    answers: { 101: "It is open" },
  },
  "GET /conversations/:id/events": {
    summary: "Lists what happened, or streams it live; never a value",
    query: { after, limit: pageSize(limits.maxPageSize) },
    headers: { "Last-Event-ID": after },
    answers: {
      200: { "application/json": schemas.events, "text/event-stream": text },
    },
  },
  "POST /conversations/:id/tickets": {
    summary: "Gives a ticket: one path for 60 s, as ?ticket=, for what cannot send headers",
    body: json(ticketBody),
    answers: { 201: json(schemas.ticket) },
  },
};
