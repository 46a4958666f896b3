import { logIfFailure, placeIn } from "../log-failure.ts";
import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Identity } from "../../tool/identity.ts";
import type { TurnLog } from "../../turn/log/turn-log.ts";
import type { ConversationContext } from "../conversation-context.ts";
import { framesOf } from "../turns/turn-response.ts";
import {
  type ClientFrame,
  closeSocket,
  newNote,
  noteOf,
  readFrame,
  type ResumeFrame,
  SocketConnection,
  type SocketRequest,
  turnOf,
} from "./socket-connection.ts";
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
    context.deletion.onMarked(() => this.#end());
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
    server.serializeAttachment(newNote(conversation, asker));
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
    if (connection.has(frame.requestId)) {
      return connection.refuse(
        frame.requestId,
        new ByrefError("bad_request", "This requestId is already in use."),
      );
    }
    this.#connections.set(socket, connection);
    void this.#serve(connection, frame).finally(() => {
      if (connection.size === 0) this.#connections.delete(socket);
    });
  }

  /** Call this when the client is gone. Running turns continue. */
  close(socket: WebSocket): void {
    this.#disconnect(socket);
    closeSocket(socket, 1000, "");
  }

  #end(): void {
    for (const socket of this.#context.state.getWebSockets()) {
      this.#disconnect(socket);
      closeSocket(socket, 1000, "The conversation was deleted.");
    }
  }

  /** Stops the turn: the transport sends this frame when its chat is stopped, not when the page closes. */
  #abort(socket: WebSocket, request: SocketRequest | undefined): void {
    if (request?.log === undefined) return;
    const { log, isResumed } = request;
    const stop = () => this.#context.queue.stopOne(log);
    if (isResumed) this.#stops.set(socket, setTimeout(stop, RESUME_GRACE_MS));
    else stop();
  }

  #disconnect(socket: WebSocket): void {
    this.#connections.get(socket)?.disconnect();
    this.#connections.delete(socket);
  }

  async #serve(
    connection: SocketConnection,
    frame: Exclude<ClientFrame, { type: "abort" }>,
  ): Promise<void> {
    const { requestId, id, type } = frame;
    const request = connection.begin(requestId, { isResumed: type === "resume" });
    try {
      if (id !== connection.conversation) {
        const message = `This socket is for ${connection.conversation} and no other conversation.`;
        throw new ByrefError("bad_request", message);
      }
      if (connection.size > MAX_OPEN_REQUESTS) {
        const message = `${MAX_OPEN_REQUESTS} requests are open on this socket; try again later.`;
        throw new ByrefError("rate_limited", message);
      }
      const span =
        frame.type === "send"
          ? await this.#beginTurn(request, turnOf(frame), connection.asker)
          : this.#find(frame);
      if (span !== undefined) await stream(connection, request, span);
      connection.send(request, { type: span === undefined ? "no-active" : "end" });
    } catch (error) {
      connection.fail(request, error);
    }
    connection.finish(request);
  }

  async #beginTurn(
    request: SocketRequest,
    turn: ReturnType<typeof turnOf>,
    asker: Identity,
  ): Promise<Span> {
    const { log, result, first } = await this.#turns.begin(turn, { asker, traceparent: null });
    // The log contains the error too.
    result.catch((error: unknown) => logIfFailure(error, placeIn(this.#context, "socket")));
    request.log = log;
    if (request.state === "aborted") this.#context.queue.stopOne(log);
    return { log, first, lastSequence: -1 };
  }

  /** The running turn, from its first chunk or after the client's last one. */
  #find({ lastSequence = -1 }: ResumeFrame): Span | undefined {
    const log = this.#context.queue.running;
    if (log === undefined) return undefined;
    if (lastSequence < log.count) return { log, first: 0, lastSequence };
    throw new ByrefError("bad_request", "There is no such chunk; resume without lastSequence.");
  }
}

/** The chunks of a turn that a client receives. */
interface Span {
  readonly log: TurnLog;
  /** The index of the frame with number 0. Default: the first of the turn's own frames. */
  readonly first?: number | undefined;
  /** Chunks up to this number are skipped. */
  readonly lastSequence: number;
}

/** Resolves when the turn has ended, or the request is no longer open. */
async function stream(
  connection: SocketConnection,
  request: SocketRequest,
  span: Span,
): Promise<void> {
  const { log, first, lastSequence } = span;
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
