import type { UIMessage, UIMessageChunk } from "ai";
import type { Frame, TurnLog } from "../../src/turn/log/turn-log.ts";
import { readMessage } from "../support/turn.ts";

/** A promise that was not kept. */
export class Broken extends Error {}

export function must(isKept: boolean, promise: string): asserts isKept {
  if (!isKept) throw new Broken(promise);
}

/** A client that reads a turn's frames at once and reconnects where the stream was cut. */
export class Client {
  /** The frames received since the newest request, in order. */
  frames: Frame[] = [];
  /** Every frame ever seen, by id. */
  readonly #seen = new Map<number, string>();
  #log: TurnLog | undefined;
  #first = 0;
  #next = 0;
  #checked = 0;

  /** Starts a new request, with a new answer. */
  ask(log: TurnLog): void {
    this.frames = [];
    this.#log = log;
    this.#first = -1;
    this.#checked = 0;
  }

  get hasSeen(): boolean {
    return this.frames.length > 0;
  }

  /** Continues with the log of the object that replaces a crashed one. */
  comeBack(log: TurnLog): void {
    if (this.#log === log) return;
    this.#log = log;
    this.#checked = 0;
    const last = this.frames.at(-1);
    this.#first = last === undefined ? -1 : log.indexAfter(last.id);
    this.#next = this.#first;
  }

  /** Reads the visible frames. */
  read(): void {
    const log = this.#log;
    if (log === undefined || log.length === 0) return;
    if (this.#first < 0) this.#first = this.#next = log.firstOwn;
    for (const { id, data } of log.slice(this.#checked, 0)) {
      const before = this.#seen.get(id);
      must(before === undefined || before === data, `R2: frame ${id} was ${before}, is ${data}`);
      this.#seen.set(id, data);
    }
    this.#checked = log.length;
    this.frames.push(...log.slice(this.#next, this.#first));
    this.#next = Math.max(this.#next, log.length);
  }

  /** Checks that frames that were seen and are gone were taken back or repeated. */
  checkTakenBack(log: TurnLog): void {
    const own = log.slice(log.firstOwn, log.firstOwn);
    const kept = new Set([...log.slice(0, 0), ...own].map(({ id }) => id));
    for (const [index, frame] of this.frames.entries()) {
      if (kept.has(frame.id) || chunkOf(frame).type.startsWith("data-")) continue;
      const later = this.frames.slice(index + 1);
      const isTakenBack = later.some((other) => chunkOf(other).type === "reset-step");
      const isRepeated = later.some(({ data }) => data === frame.data);
      must(isTakenBack || isRepeated, `R2: frame ${frame.id} is gone: ${frame.data}`);
    }
  }
}

export function chunkOf({ data }: Frame): UIMessageChunk {
  // Written by `push`.
  return JSON.parse(data) as UIMessageChunk;
}

/** Joins consecutive deltas, since a stock client copies its message for each chunk. */
function joined(chunks: readonly UIMessageChunk[]): readonly UIMessageChunk[] {
  const all: UIMessageChunk[] = [];
  for (const chunk of chunks) {
    const last = all.at(-1);
    if (last?.type === "text-delta" && chunk.type === "text-delta" && last.id === chunk.id) {
      all[all.length - 1] = { ...last, delta: last.delta + chunk.delta };
    } else if (
      last?.type === "tool-input-delta" &&
      chunk.type === "tool-input-delta" &&
      last.toolCallId === chunk.toolCallId
    ) {
      const inputTextDelta = last.inputTextDelta + chunk.inputTextDelta;
      all[all.length - 1] = { ...last, inputTextDelta };
    } else all.push(chunk);
  }
  return all;
}

/** Returns what a stock client makes of the frames. `message` is what it had before. */
export async function messageFrom(
  frames: readonly Frame[],
  message?: UIMessage,
): Promise<UIMessage | undefined> {
  const chunks = joined(frames.map(chunkOf));
  const { message: newest, errors } = await readMessage(chunks, message);
  const said = chunks.flatMap((chunk) => (chunk.type === "error" ? [chunk.errorText] : []));
  const unreadable = errors.filter((error) => !said.some((text) => error.includes(text)));
  must(unreadable.length === 0, `R2: a stock client cannot read the frames: ${unreadable[0]}`);
  return newest;
}
