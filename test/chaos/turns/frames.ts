import type { UIMessageChunk } from "ai";
import { readMessage } from "../../support/turn.ts";

/** An event of a stream, as received. */
export interface Frame {
  readonly id: number | undefined;
  readonly data: string;
}

/** Yields the events of a body as they arrive, without comments. Rejects if the body breaks off. */
export async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  let text = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      if (event.startsWith(":")) continue;
      const id = /^id: (\d+)$/m.exec(event)?.[1];
      const data = /^data: (.*)$/m.exec(event)?.[1] ?? "";
      yield { id: id === undefined ? undefined : Number(id), data };
    }
  }
}

export function typeOf({ data }: Frame): string {
  return data === "[DONE]" ? data : String((JSON.parse(data) as { type: string }).type);
}

/** Types that end a stream: the answer is complete, has failed, or was stopped. */
const TERMINAL: ReadonlySet<string> = new Set(["finish", "error", "abort"]);

export function isTerminal(frame: Frame | undefined): boolean {
  return frame !== undefined && TERMINAL.has(typeOf(frame));
}

/** Returns the message that a stock client has after these frames, and the errors that it would have thrown. */
export function foldFrames(frames: readonly Frame[]): ReturnType<typeof readMessage> {
  const chunks = frames
    .filter((frame) => typeOf(frame) !== "[DONE]" && typeOf(frame) !== "error")
    .map(({ data }) => JSON.parse(data) as UIMessageChunk);
  return readMessage(chunks);
}

/** Returns the frames up to the end of the last finished step. */
export function finishedSteps(frames: readonly Frame[]): readonly Frame[] {
  return frames.slice(0, frames.findLastIndex((frame) => typeOf(frame) === "finish-step") + 1);
}

/** Every frame that any client received, by conversation and id. */
export class FrameBook {
  readonly #seen = new Map<string, string>();

  /** Records a frame. Returns the data that another client got under the same id, if it differs. */
  note(conversation: string, { id, data }: Frame): string | undefined {
    if (id === undefined) return undefined;
    const key = `${conversation} ${id}`;
    const known = this.#seen.get(key);
    if (known === undefined) this.#seen.set(key, data);
    return known === undefined || known === data ? undefined : known;
  }
}
