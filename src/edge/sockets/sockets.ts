import type { WebSocketChatTransportResponse } from "ai";
import * as z from "zod";
import { ByrefError, publicTextOf, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Identity } from "../../tool/identity.ts";
import type { TurnLog } from "../../turn/log/turn-log.ts";
import { isObject } from "../../value/json.ts";
import type { ConversationContext } from "../conversation-context.ts";
import { parse } from "../http/endpoint.ts";
import { idempotencyKey } from "../http/parameters.ts";
import { bounded, parseJson } from "../http/read-body.ts";
import { logIfFailure, placeIn } from "../log-failure.ts";
import { chatBody, turnIn, type TurnRequest } from "../turns/turn-request.ts";
import { framesOf } from "../turns/turn-response.ts";
import type { Turns } from "../turns/turns.ts";

/** Maximum of open requests on one socket: all turns that can wait, and the same number of watchers. */
const MAX_OPEN_REQUESTS = 2 * limits.maxQueuedTurns;

/**
 * Delay before an abort of a resumed request takes effect. A client that resumes again first aborts its
 * earlier resume, and does not want to stop the turn.
 */
const RESUME_GRACE_MS = 250;

/**
 * The server side of the AI SDK's `WebSocketChatTransport`. The platform holds the sockets, also while the
 * object hibernates. State that must survive hibernation is in the socket's attachment; this class holds only
 * the connections of sockets that watch turns. A turn continues when its socket closes.
 */
export class Sockets {
  readonly #context: ConversationContext;
  readonly #turns: Turns;
  readonly #connections = new Map<WebSocket, SocketConnection>();
  readonly #stops = new WeakMap<WebSocket, ReturnType<typeof setTimeout>>();

  constructor(context: ConversationContext, turns: Turns) {
    this.#context = context;
    this.#turns = turns;
    context.deletion.onMarked(() => {
      for (const socket of context.state.getWebSockets()) {
        this.close(socket, "The conversation was deleted.");
      }
    });
    for (const socket of context.state.getWebSockets()) {
      // The object ended before the turn that the socket watched, so it is unknown which chunks were sent.
      if (noteOf(socket).isBusy) closeSocket(socket, 1012, "The turn was interrupted: resume it.");
    }
  }

  /** Opens a socket to this conversation, which need not exist. Writes nothing. */
  open(conversation: string, asker: Identity): Response {
    const { state } = this.#context;
    if (state.getWebSockets().length >= limits.maxSockets) {
      const message = `A conversation has at most ${limits.maxSockets} sockets; close one of them.`;
      throw new ByrefError("rate_limited", message);
    }
    const advice = "Send messages with POST instead.";
    requireAtMost("maxTokenChars", JSON.stringify(asker).length, advice);
    const { 0: client, 1: server } = new WebSocketPair();
    // Answered without waking the object.
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
    state.acceptWebSocket(server);
    const note: Note = { conversation, asker, sentChars: 0, isBusy: false };
    server.serializeAttachment(note);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Handles a frame. Does not throw, and does not wait for the work that it starts. */
  receive(socket: WebSocket, message: string | ArrayBuffer): void {
    // The socket is closing.
    if (socket.readyState !== WebSocket.OPEN) return;
    const connection = this.#connections.get(socket) ?? new SocketConnection(socket);
    const frame = readFrame(message);
    if (frame.type === "bad") return connection.refuse(frame.requestId, frame.error);
    if (frame.type === "abort") return this.#abort(socket, connection.abort(frame.requestId));
    if (frame.type === "resume") clearTimeout(this.#stops.get(socket));
    if (connection.requests.has(frame.requestId)) {
      const inUse = new ByrefError("bad_request", "This requestId is already in use.");
      return connection.refuse(frame.requestId, inUse);
    }
    this.#connections.set(socket, connection);
    void this.#serve(connection, frame).finally(() => {
      if (connection.requests.size === 0) this.#connections.delete(socket);
    });
  }

  /** Call this when the client is gone. Running turns continue. */
  close(socket: WebSocket, reason = ""): void {
    this.#connections.get(socket)?.disconnect();
    this.#connections.delete(socket);
    closeSocket(socket, 1000, reason);
  }

  /** Stops the turn: the transport sends this frame when its chat is stopped, not when the page closes. */
  #abort(socket: WebSocket, request: SocketRequest | undefined): void {
    if (request?.log === undefined) return;
    const { log, isResumed } = request;
    const stop = () => this.#context.queue.stopOne(log);
    if (isResumed) this.#stops.set(socket, setTimeout(stop, RESUME_GRACE_MS));
    else stop();
  }

  async #serve(
    connection: SocketConnection,
    frame: Exclude<ClientFrame, { type: "abort" }>,
  ): Promise<void> {
    const { requestId, id, type } = frame;
    const request = connection.begin(requestId, type === "resume");
    try {
      const { conversation, asker } = connection.note;
      if (id !== conversation) {
        const message = `This socket is for ${conversation} and no other conversation.`;
        throw new ByrefError("bad_request", message);
      }
      if (connection.requests.size > MAX_OPEN_REQUESTS) {
        const message = `${MAX_OPEN_REQUESTS} requests are open on this socket; try again later.`;
        throw new ByrefError("rate_limited", message);
      }
      const { lastSequence = -1 } = type === "resume" ? frame : {};
      // The index of the frame with number 0. Default: the first of the turn's own frames.
      const { log, first } =
        type === "resume"
          ? { log: this.#context.queue.running, first: 0 }
          : await this.#beginTurn(request, turnOf(frame), asker);
      if (type === "resume" && lastSequence >= (log?.count ?? Infinity)) {
        const message = "There is no such chunk; resume without lastSequence.";
        throw new ByrefError("bad_request", message);
      }
      if (log !== undefined) await stream(connection, request, { log, first, lastSequence });
      connection.send(request, { type: log === undefined ? "no-active" : "end" });
    } catch (error) {
      logIfFailure(error, { conversation: connection.note.conversation, request: "socket" });
      connection.send(request, { type: "error", errorText: publicTextOf(error) });
    }
    connection.finish(request);
  }

  async #beginTurn(request: SocketRequest, turn: TurnRequest, asker: Identity) {
    const begun = await this.#turns.begin(turn, { asker, traceparent: null });
    // The log contains the error too.
    begun.result.catch((error: unknown) => logIfFailure(error, placeIn(this.#context, "socket")));
    request.log = begun.log;
    if (request.state === "aborted") this.#context.queue.stopOne(begun.log);
    return begun;
  }
}

/** Sends the chunks after `lastSequence`. Resolves when the turn has ended, or the request is no longer open. */
async function stream(
  connection: SocketConnection,
  request: SocketRequest,
  { log, first, lastSequence }: { log: TurnLog; first: number | undefined; lastSequence: number },
): Promise<void> {
  request.log = log;
  connection.send(request, { type: "start" });
  let sequence = 0;
  for await (const frames of framesOf(log, first)) {
    if (request.state !== "open") return;
    // A keep-alive for proxies.
    if (frames.length === 0) connection.send(request, { type: "start" });
    for (const { data } of frames) {
      if (sequence > lastSequence) connection.sendChunk(request, sequence, data);
      sequence++;
    }
  }
}

/** The socket's attachment, which the platform keeps while the object hibernates; at most 16,384 bytes. */
interface Note {
  readonly conversation: string;
  readonly asker: Identity;
  readonly sentChars: number;
  /** True while it watches a turn. */
  readonly isBusy: boolean;
}

interface SocketRequest {
  readonly requestId: string;
  /** True if it watches a turn that another request began. */
  readonly isResumed: boolean;
  /** Nothing is sent once it is aborted or the socket is gone. */
  state: "open" | "aborted" | "gone";
  /** The turn's log, once the turn has begun. */
  log?: TurnLog;
}

export class SocketConnection {
  readonly #socket: WebSocket;
  /** Those that are open, by their ids. */
  readonly requests = new Map<string, SocketRequest>();
  note: Note;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    this.note = noteOf(socket);
  }

  begin(requestId: string, isResumed: boolean): SocketRequest {
    const request: SocketRequest = { requestId, isResumed, state: "open" };
    this.requests.set(requestId, request);
    this.#keep({ isBusy: true });
    return request;
  }

  /** Ends the request and returns it. */
  abort(requestId: string): SocketRequest | undefined {
    const request = this.requests.get(requestId);
    if (request === undefined) return undefined;
    request.state = "aborted";
    this.finish(request);
    return request;
  }

  /** Call this when the request has its response. */
  finish(request: SocketRequest): void {
    // The request was aborted: another one may use its id now.
    if (this.requests.get(request.requestId) !== request) return;
    this.requests.delete(request.requestId);
    if (this.requests.size > 0) return;
    this.#keep({ isBusy: false });
    if (this.note.sentChars > limits.maxBodyBytes / 2) this.#close(1013, "Connect again.");
  }

  /** Call this when the socket is gone. */
  disconnect(): void {
    for (const request of this.requests.values()) request.state = "gone";
    this.requests.clear();
  }

  send(request: SocketRequest, frame: ServerFrame): void {
    const { requestId, state } = request;
    if (state === "open") this.#sendText(JSON.stringify({ ...frame, requestId }));
  }

  /** Sends a chunk, which is JSON already. */
  sendChunk({ requestId, state }: SocketRequest, sequence: number, chunk: string): void {
    const about = `"type":"chunk","requestId":${JSON.stringify(requestId)}`;
    if (state === "open") this.#sendText(`{${about},"sequence":${sequence},"chunk":${chunk}}`);
  }

  /** Rejects an invalid frame. `requestId` is empty if it could not be read. */
  refuse(requestId: string, error: unknown): void {
    this.#sendText(JSON.stringify({ type: "error", requestId, errorText: publicTextOf(error) }));
  }

  #sendText(text: string): void {
    const sentChars = this.note.sentChars + text.length;
    this.note = { ...this.note, sentChars };
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
    this.note = { ...this.note, ...changes };
    this.#socket.serializeAttachment(this.note);
  }
}

function noteOf(socket: WebSocket): Note {
  // `Sockets.open` attached it.
  return socket.deserializeAttachment() as Note;
}

/** Closes the socket unless it is closed. */
function closeSocket(socket: WebSocket, code: number, reason: string): void {
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
type ServerFrame = Nameless<Exclude<WebSocketChatTransportResponse, { type: "chunk" }>>;
type Nameless<Frame> = Frame extends unknown ? Omit<Frame, "requestId"> : never;

type ClientFrame = z.infer<typeof clientFrame>;

/** Parses a frame. Returns the error of an invalid one, with its request id if that can be read. */
function readFrame(
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
function turnOf(frame: z.infer<typeof sendFrame>): TurnRequest {
  const { body, id, messages, trigger, messageId, headers } = frame;
  const [, key] = Object.entries(headers).find(([name]) => /^idempotency-key$/iu.test(name)) ?? [];
  return bounded({
    ...turnIn(parse(chatBody, { ...body, id, messages, trigger, messageId }, "frame")),
    conversation: id,
    idempotencyKey: parse(idempotencyKey, key, "Idempotency-Key"),
  });
}
