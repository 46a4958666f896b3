import type { WebSocketChatTransportResponse } from "ai";
import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import { isObject } from "../../value/json.ts";
import { parseJson } from "../http/read-body.ts";
import { bounded } from "../http/message-size.ts";
import { parse } from "../http/parse.ts";
import { chatBody, idempotencyKey, turnIn, type TurnRequest } from "../turns/turn-request.ts";

/** Chosen by the client; several requests share one socket. */
const requestId = z.string().min(1).max(128);

const sendFrame = z.object({
  ...chatBody.pick({ id: true, messages: true, trigger: true, messageId: true }).shape,
  type: z.literal("send"),
  requestId,
  headers: z.record(z.string(), z.string()).default({}),
  body: z.record(z.string(), z.unknown()).default({}),
});

const resumeFrame = z.object({
  type: z.literal("resume"),
  requestId,
  id: z.string(),
  lastSequence: z.int().min(0).optional(),
});

const abortFrame = z.object({ type: z.literal("abort"), requestId });

/** Frames that the AI SDK's `WebSocketChatTransport` sends. */
const clientFrame = z.discriminatedUnion("type", [sendFrame, resumeFrame, abortFrame]);

/** Any frame except a chunk, without its request id. */
export type ServerFrame = Nameless<Exclude<WebSocketChatTransportResponse, { type: "chunk" }>>;
type Nameless<Frame> = Frame extends unknown ? Omit<Frame, "requestId"> : never;

export type ClientFrame = z.infer<typeof clientFrame>;
type SendFrame = z.infer<typeof sendFrame>;
export type ResumeFrame = z.infer<typeof resumeFrame>;

/** Parses a frame. Returns the error of an invalid one, with its request id if that can be read. */
export function readFrame(
  message: string | ArrayBuffer,
): ClientFrame | { readonly type: "bad"; readonly requestId: string; readonly error: unknown } {
  let value: unknown;
  try {
    if (typeof message !== "string") throw new ByrefError("bad_request", "A frame is text.");
    value = parseJson(message);
    return parse(clientFrame, value, "frame");
  } catch (error) {
    const named = isObject(value) ? requestId.safeParse(value.requestId) : undefined;
    return { type: "bad", requestId: named?.data ?? "", error };
  }
}

/** The turn that the frame requests. As over HTTP, only the last message counts. */
export function turnOf(frame: SendFrame): TurnRequest {
  const { body, id, messages, trigger, messageId, headers } = frame;
  return bounded({
    ...turnIn(parse(chatBody, { ...body, id, messages, trigger, messageId }, "frame")),
    conversation: id,
    idempotencyKey: parse(idempotencyKey, headers["idempotency-key"], "Idempotency-Key"),
  });
}

/** `chunk` is JSON already. */
export function chunkFrame(requestId: string, sequence: number, chunk: string): string {
  const name = JSON.stringify(requestId);
  return `{"type":"chunk","requestId":${name},"sequence":${sequence},"chunk":${chunk}}`;
}
