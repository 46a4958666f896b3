import * as limits from "../../limits.ts";
import { codeOf, publicTextOf } from "../../errors.ts";
import type { TurnLog } from "../../turn/log/turn-log.ts";
import { chunkFrame, type ServerFrame } from "./socket-frames.ts";

/** What the platform keeps of a socket while the object is not there; 2 KB at most. */
interface Note {
  readonly conversation: string;
  /** Of all that came: what was no frame. */
  readonly badFrames: number;
  readonly sentChars: number;
  /** Does it watch a turn? */
  readonly isBusy: boolean;
}

/** One request of a client, and what is told of it. */
export interface SocketRequest {
  readonly requestId: string;
  /** Somebody else may have begun the turn. */
  readonly isResumed: boolean;
  /** Once somebody has aborted it, or the socket has gone, nothing is told any more. */
  state: "open" | "aborted" | "gone";
  /** Of the turn, as soon as that is known. */
  log?: TurnLog;
}

/** A socket on which something is said. */
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

  get isIdle(): boolean {
    return this.#requests.size === 0;
  }

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

  /** The request that nobody waits for any more. */
  abort(requestId: string): SocketRequest | undefined {
    const request = this.#requests.get(requestId);
    if (request === undefined) return undefined;
    request.state = "aborted";
    this.finish(request);
    return request;
  }

  /** Called when all is said. */
  finish(request: SocketRequest): void {
    // Aborted, it made room for another of its name.
    if (this.#requests.get(request.requestId) !== request) return;
    this.#requests.delete(request.requestId);
    if (!this.isIdle) return;
    this.#keep({ isBusy: false });
    if (this.#note.sentChars > limits.maxSocketChars / 2) this.#close(1013, "Connect again.");
  }

  /** Nobody listens any more. */
  hangUp(): void {
    for (const request of this.#requests.values()) request.state = "gone";
    this.#requests.clear();
  }

  send(request: SocketRequest, frame: ServerFrame): void {
    if (request.state === "open") this.#send({ ...frame, requestId: request.requestId });
  }

  /** A chunk, as JSON. */
  sendChunk({ requestId, state }: SocketRequest, sequence: number, chunk: string): void {
    if (state === "open") this.#sendText(chunkFrame(requestId, sequence, chunk));
  }

  fail(request: SocketRequest, error: unknown): void {
    if (codeOf(error) === "internal") console.error(error);
    this.send(request, { type: "error", errorText: publicTextOf(error) });
  }

  /** What came is no frame; `requestId` is what it may have been about. */
  refuse(requestId: string, error: unknown): void {
    const badFrames = this.#note.badFrames + 1;
    this.#keep({ badFrames });
    if (badFrames > limits.maxBadFrames) return this.#close(1008, "Too much that is no frame.");
    this.#send({ type: "error", requestId, errorText: publicTextOf(error) });
  }

  #send(frame: ServerFrame & { readonly requestId: string }): void {
    this.#sendText(JSON.stringify(frame));
  }

  #sendText(text: string): void {
    const sentChars = this.#note.sentChars + text.length;
    this.#note = { ...this.#note, sentChars };
    if (sentChars > limits.maxSocketChars)
      return this.#close(1013, "Too much for one socket: resume.");
    try {
      this.#socket.send(text);
    } catch {
      // It is closed, and that has not been told yet.
      this.hangUp();
    }
  }

  #close(code: number, reason: string): void {
    this.hangUp();
    closeSocket(this.#socket, code, reason);
  }

  #keep(changes: Partial<Note>): void {
    this.#note = { ...this.#note, ...changes };
    this.#socket.serializeAttachment(this.#note);
  }
}

export function newNote(conversation: string): Note {
  return { conversation, badFrames: 0, sentChars: 0, isBusy: false };
}

export function noteOf(socket: WebSocket): Note {
  // `open` gave it one.
  return socket.deserializeAttachment() as Note;
}

/** Closes it unless it is closed. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  try {
    socket.close(code, reason);
  } catch {
    // So it is.
  }
}
