import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";

/** One event of a stream, as it came. */
export interface Frame {
  readonly id: number | undefined;
  readonly data: string;
}

/** The events of a body as they come; comments are left out. Rejects if the body breaks off. */
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

/** After one of these nothing follows: the answer is complete, failed, or was stopped. */
const TERMINAL: ReadonlySet<string> = new Set(["finish", "error", "abort"]);

export function isTerminal(frame: Frame | undefined): boolean {
  return frame !== undefined && TERMINAL.has(typeOf(frame));
}

interface Folded {
  readonly message: UIMessage | undefined;
  /** What a stock client would have thrown. */
  readonly errors: readonly string[];
}

/** The message that a stock client has after these frames. */
export async function foldFrames(frames: readonly Frame[]): Promise<Folded> {
  const chunks = frames
    .filter((frame) => typeOf(frame) !== "[DONE]" && typeOf(frame) !== "error")
    .map(({ data }) => JSON.parse(data) as UIMessageChunk);
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const errors: string[] = [];
  const onError = (error: unknown) => errors.push(String(error));
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream, onError })) message = state;
  return { message, errors };
}

/** Up to the last step that is finished. */
export function finishedSteps(frames: readonly Frame[]): readonly Frame[] {
  return frames.slice(0, frames.findLastIndex((frame) => typeOf(frame) === "finish-step") + 1);
}

/** Every frame that anybody was sent, by conversation and id. */
export class FrameBook {
  readonly #seen = new Map<string, string>();

  /** What another was sent under the same id, if that is something else. */
  note(conversation: string, { id, data }: Frame): string | undefined {
    if (id === undefined) return undefined;
    const key = `${conversation} ${id}`;
    const known = this.#seen.get(key);
    if (known === undefined) this.#seen.set(key, data);
    return known === undefined || known === data ? undefined : known;
  }
}
