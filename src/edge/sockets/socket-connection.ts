import * as limits from "../../limits.ts";
import { ByrefError, publicTextOf } from "../../errors.ts";
import type { Identity } from "../../tool/identity.ts";
import type { TurnLog } from "../../turn/log/turn-log.ts";
import type { WebSocketChatTransportResponse } from "ai";
import * as z from "zod";
import { logIfFailure } from "../log-failure.ts";
import { isObject } from "../../value/json.ts";
import { bounded, parseJson } from "../http/read-body.ts";
import { parse } from "../http/endpoint.ts";
import { idempotencyKey } from "../http/parameters.ts";
import { chatBody, turnIn, type TurnRequest } from "../turns/turn-request.ts";

/** The socket's attachment, which the platform keeps while the object hibernates; at most 16,384 bytes. */
interface Note {
  readonly conversation: string;
  /** Who opened it. */
  readonly asker: Identity;
  /** Invalid frames received so far. */
  readonly badFrames: number;
  readonly sentChars: number;
  /** True while it watches a turn. */
  readonly isBusy: boolean;
}

/** One request of a client. */
export interface SocketRequest {
  readonly requestId: string;
  /** True if it watches a turn that another request began. */
  readonly isResumed: boolean;
  /** Nothing is sent once it is aborted or the socket is gone. */
  state: "open" | "aborted" | "gone";
  /** The turn's log, once the turn has begun. */
  log?: TurnLog;
}

/** A socket with open requests. */
export class SocketConnection {
  readonly #socket: WebSocket;
  readonly #requests = new Map<string, SocketRequest>();
  #note: Note;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#note = noteOf(socket);
  }

  get conversation(): string {
    return this.#note.conversation;
  }

  get asker(): Identity {
    return this.#note.asker;
  }

  /** Number of open requests. */
  get size(): number {
    return this.#requests.size;
  }

  has(requestId: string): boolean {
    return this.#requests.has(requestId);
  }

  begin(requestId: string, about: Pick<SocketRequest, "isResumed">): SocketRequest {
    const request: SocketRequest = { ...about, requestId, state: "open" };
    this.#requests.set(requestId, request);
    this.#keep({ isBusy: true });
    return request;
  }

  /** Ends the request and returns it. */
  abort(requestId: string): SocketRequest | undefined {
    const request = this.#requests.get(requestId);
    if (request === undefined) return undefined;
    request.state = "aborted";
    this.finish(request);
    return request;
  }

  /** Call this when the request has its response. */
  finish(request: SocketRequest): void {
    // The request was aborted: another one may use its id now.
    if (this.#requests.get(request.requestId) !== request) return;
    this.#requests.delete(request.requestId);
    if (this.size > 0) return;
    this.#keep({ isBusy: false });
    if (this.#note.sentChars > limits.maxBodyBytes / 2) this.#close(1013, "Connect again.");
  }

  /** Call this when the socket is gone. */
  disconnect(): void {
    for (const request of this.#requests.values()) request.state = "gone";
    this.#requests.clear();
  }

  send(request: SocketRequest, frame: ServerFrame): void {
    if (request.state === "open") this.#send({ ...frame, requestId: request.requestId });
  }

  /** Sends a chunk, encoded as JSON. */
  sendChunk({ requestId, state }: SocketRequest, sequence: number, chunk: string): void {
    if (state === "open") this.#sendText(chunkFrame(requestId, sequence, chunk));
  }

  fail(request: SocketRequest, error: unknown): void {
    logIfFailure(error, { conversation: this.conversation, request: "socket" });
    this.send(request, { type: "error", errorText: publicTextOf(error) });
  }

  /** Rejects an invalid frame. `requestId` is empty if it could not be read. */
  refuse(requestId: string, error: unknown): void {
    const badFrames = this.#note.badFrames + 1;
    this.#keep({ badFrames });
    if (badFrames > limits.maxTries) return this.#close(1008, "Too many invalid frames.");
    this.#send({ type: "error", requestId, errorText: publicTextOf(error) });
  }

  #send(frame: ServerFrame & { readonly requestId: string }): void {
    this.#sendText(JSON.stringify(frame));
  }

  #sendText(text: string): void {
    const sentChars = this.#note.sentChars + text.length;
    this.#note = { ...this.#note, sentChars };
    if (sentChars > limits.maxBodyBytes)
      return this.#close(1013, "Too much output for one socket: resume.");
    try {
      this.#socket.send(text);
    } catch {
      // The socket is closed, and the close event has not arrived yet.
      this.disconnect();
    }
  }

  #close(code: number, reason: string): void {
    this.disconnect();
    closeSocket(this.#socket, code, reason);
  }

  #keep(changes: Partial<Note>): void {
    this.#note = { ...this.#note, ...changes };
    this.#socket.serializeAttachment(this.#note);
  }
}

export function newNote(conversation: string, asker: Identity): Note {
  return { conversation, asker, badFrames: 0, sentChars: 0, isBusy: false };
}

export function noteOf(socket: WebSocket): Note {
  // `Sockets.open` attached it.
  return socket.deserializeAttachment() as Note;
}

/** Closes the socket unless it is closed. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  try {
    socket.close(code, reason);
  } catch {
    // Closed already.
  }
}

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
function chunkFrame(requestId: string, sequence: number, chunk: string): string {
  const name = JSON.stringify(requestId);
  return `{"type":"chunk","requestId":${name},"sequence":${sequence},"chunk":${chunk}}`;
}
