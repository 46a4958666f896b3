import * as z from "zod";
import { ByrefError, codeOf, publicMessageOf } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Frame, TurnLog } from "../turn/turn-log.ts";
import {
  chunkFrame,
  type ClientFrame,
  readFrame,
  type ResumeFrame,
  type SendFrame,
  serverFrame,
  turnOf,
} from "./socket-frames.ts";
import type { Turns } from "./turns.ts";

export interface SocketsOptions {
  readonly state: Pick<
    DurableObjectState,
    "acceptWebSocket" | "getWebSockets" | "setWebSocketAutoResponse"
  >;
  readonly turns: Pick<Turns, "begin" | "running" | "stopTurn">;
}

/** What a socket is told of a turn, under the name that its client gave. */
interface Watch {
  readonly requestId: string;
  /** Undefined until the turn is found. */
  log?: TurnLog;
  /** Nobody listens any more. */
  isOver: boolean;
}

/** Which frames of a turn a client is to have. */
interface Span {
  /** The index of the first frame; without it, where the request's own frames begin. */
  readonly first?: number | undefined;
  /** Chunks up to this number the client has had. */
  readonly lastSequence?: number | undefined;
}

/**
 * The server's side of the AI SDK's `WebSocketChatTransport`. The platform keeps the sockets, and lets the
 * object go while nobody says anything: what is to be known of a socket then stays in its attachment, and what
 * is here is only of turns that it watches. A socket that goes stops no turn.
 *
 * A socket that does not read cannot be told from one that does: nothing says how much of what was sent waits.
 * So what one socket carries in its life is bounded.
 */
export class Sockets {
  readonly #options: SocketsOptions;
  readonly #watches = new Map<WebSocket, Map<string, Watch>>();

  constructor(options: SocketsOptions) {
    this.#options = options;
    for (const socket of options.state.getWebSockets()) {
      // The object it watched a turn in has gone without the socket; its client resumes over a new one.
      if (noteOf(socket).isBusy) close(socket, 1012, "The turn was interrupted; resume.");
    }
  }

  /** A socket for this conversation, which need not be there yet: nothing is written. */
  open(conversation: string): Response {
    const { state } = this.#options;
    const { 0: client, 1: server } = new WebSocketPair();
    // Answered without waking the object. The stock client does not ask.
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
    state.acceptWebSocket(server);
    server.serializeAttachment({ conversation, badFrames: 0, sentChars: 0, isBusy: false });
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Does not throw, and does not wait for what it begins. */
  receive(socket: WebSocket, message: string | ArrayBuffer): void {
    const frame = readFrame(message);
    if (frame.type === "bad") return this.#refuse(socket, frame.requestId, frame.error);
    if (frame.type === "abort") return this.#abort(socket, frame.requestId);
    const watches = this.#watches.get(socket) ?? new Map<string, Watch>();
    if (watches.has(frame.requestId)) {
      const error = new ByrefError("bad_request", "This requestId is in use.");
      return this.#refuse(socket, frame.requestId, error);
    }
    const watch: Watch = { requestId: frame.requestId, isOver: false };
    this.#watches.set(socket, watches.set(frame.requestId, watch));
    changeNote(socket, { isBusy: true });
    void this.#serve(socket, watch, frame);
  }

  /** It is closed, by whomever. What runs goes on. */
  forget(socket: WebSocket): void {
    for (const watch of this.#watches.get(socket)?.values() ?? []) watch.isOver = true;
    this.#watches.delete(socket);
  }

  /** There is nothing any more to talk about. */
  end(): void {
    for (const socket of this.#options.state.getWebSockets()) {
      this.forget(socket);
      close(socket, 1000, "The conversation was deleted.");
    }
  }

  /** The transport's way to stop: it sends this when its chat is stopped, not when it goes. */
  #abort(socket: WebSocket, requestId: string): void {
    const watch = this.#watches.get(socket)?.get(requestId);
    if (watch === undefined) return;
    this.#finish(socket, watch);
    if (watch.log !== undefined) this.#options.turns.stopTurn(watch.log);
  }

  async #serve(
    socket: WebSocket,
    watch: Watch,
    frame: Exclude<ClientFrame, { readonly type: "abort" }>,
  ): Promise<void> {
    const { requestId } = watch;
    try {
      this.#requireRoom(socket, frame);
      const isThere = await (frame.type === "send"
        ? this.#ask(socket, watch, frame)
        : this.#resume(socket, watch, frame));
      const type = isThere ? "end" : "no-active";
      if (!watch.isOver) send(socket, serverFrame({ type, requestId }));
    } catch (error) {
      if (!watch.isOver) sendError(socket, requestId, error);
    }
    this.#finish(socket, watch);
  }

  #requireRoom(socket: WebSocket, { id }: SendFrame | ResumeFrame): void {
    const { conversation } = noteOf(socket);
    if (id !== conversation) {
      throw new ByrefError("bad_request", `This socket is for ${conversation}, and no other chat.`);
    }
    if ((this.#watches.get(socket)?.size ?? 0) <= MAX_WATCHES) return;
    const message = `${MAX_WATCHES} requests are open on this socket; try again later.`;
    throw new ByrefError("too_many_turns", message);
  }

  async #ask(socket: WebSocket, watch: Watch, frame: SendFrame): Promise<true> {
    const { turns } = this.#options;
    const { log, result, first } = await turns.begin(turnOf(frame));
    // A turn that fails outside of its own doing has ended its log.
    result.catch((error: unknown) => console.error(error));
    watch.log = log;
    // Aborted meanwhile, or only cut off?
    if (watch.isOver && this.#watches.has(socket)) turns.stopTurn(log);
    await this.#stream(socket, watch, { first });
    return true;
  }

  /** False if no turn runs. */
  async #resume(socket: WebSocket, watch: Watch, frame: ResumeFrame): Promise<boolean> {
    const log = this.#options.turns.running;
    if (log === undefined) return false;
    watch.log = log;
    const { lastSequence } = frame;
    // Of another turn, or of an attempt that a crash has ended.
    if (lastSequence !== undefined && lastSequence >= log.slice(0, 0).length) {
      throw new ByrefError("bad_request", "No such chunk was sent; resume without lastSequence.");
    }
    await this.#stream(socket, watch, { first: 0, lastSequence });
    return true;
  }

  /** Resolves when the turn has ended, or nobody listens. */
  async #stream(socket: WebSocket, watch: Watch, span: Span): Promise<void> {
    const { requestId } = watch;
    const { lastSequence = -1 } = span;
    let sequence = 0;
    for await (const frames of framesOf(watch, span.first)) {
      if (watch.isOver) return;
      // What a client knows already; it keeps the connection open while there is nothing else to say.
      if (frames.length === 0) send(socket, serverFrame({ type: "start", requestId }));
      let chars = 0;
      for (const { data } of frames) {
        if (sequence > lastSequence) {
          const text = chunkFrame(requestId, sequence, data);
          chars += text.length;
          send(socket, text);
        }
        sequence++;
      }
      this.#count(socket, chars);
    }
  }
}
