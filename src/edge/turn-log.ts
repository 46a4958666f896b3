import type { UIMessageChunk } from "ai";
import { limits } from "../limits.ts";
import { isHighSurrogate } from "../value/json.ts";

/** Ids count up from here: attempt × 1,000,000,000 + sequence. */
const ATTEMPT_FRAMES = 1_000_000_000;

/**
 * The frames of one turn, in order, kept once however many watchers read them and however slowly. The turn never waits for a watcher.
 */
export class TurnLog {
  readonly #chunks: UIMessageChunk[] = [];
  readonly #frames: string[] = [];
  readonly #waiting = new Set<() => void>();
  #isEnded = false;
  #firstId = ATTEMPT_FRAMES + 1;

  /** Which attempt of the conversation this is, from 1: no two have frames of the same id. */
  begin(attempt: number): void {
    this.#firstId = attempt * ATTEMPT_FRAMES + 1;
  }

  push(chunk: UIMessageChunk): void {
    const id = this.#firstId + this.#frames.length;
    this.#chunks.push(chunk);
    this.#frames.push(`id: ${id}\ndata: ${JSON.stringify(chunk)}\n\n`);
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  /** The UI message stream as server-sent events: all of it, or what follows the frame of this id. */
  eventStream(after = 0): ReadableStream<Uint8Array> {
    const had = after - this.#firstId + 1;
    // Whoever names a frame of another attempt has had none of this one.
    const first = had > 0 && had <= this.#frames.length ? had : 0;
    return this.#watch(first, (from) => this.#frames.slice(from).join(""), {
      last: "data: [DONE]\n\n",
      keepAlive: ": waiting\n\n",
    });
  }

  /** The answer's text alone; a call that waits for approval, or an error, is a line that says so. */
  textStream(): ReadableStream<Uint8Array> {
    let hasText = false;
    const write = (chunk: UIMessageChunk) => {
      // Texts of several steps are paragraphs of one answer.
      const gap = chunk.type === "text-start" && hasText ? "\n\n" : "";
      hasText ||= chunk.type === "text-delta";
      return gap + textOf(chunk);
    };
    return this.#watch(0, (from) => this.#chunks.slice(from).map(write).join(""), {
      last: "",
      keepAlive: "",
    });
  }

  #watch(
    first: number,
    write: (from: number) => string,
    { last, keepAlive }: { readonly last: string; readonly keepAlive: string },
  ): ReadableStream<Uint8Array> {
    const encoder = new StreamEncoder();
    let next = first;
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        for (;;) {
          if (next === this.#frames.length && !this.#isEnded) {
            const isNews = await this.#news();
            if (isNews || keepAlive === "") continue;
            return controller.enqueue(encoder.encode(keepAlive));
          }
          // Parts that are ready together leave in one write.
          const isEnded = this.#isEnded;
          const bytes = encoder.encode(write(next) + (isEnded ? last : ""));
          next = this.#frames.length;
          if (bytes.length > 0) controller.enqueue(bytes);
          if (isEnded) return controller.close();
          if (bytes.length > 0) return;
        }
      },
    });
  }

  /** True when there is something new; false after the time in which a connection wants a sign of life. */
  #news(): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (isNews: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve(isNews);
      };
      const wake = () => done(true);
      const timer = setTimeout(() => done(false), limits.keepAliveMs);
      this.#waiting.add(wake);
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}

function textOf(chunk: UIMessageChunk): string {
  if (chunk.type === "text-delta") return chunk.delta;
  if (chunk.type === "tool-approval-request") return `\n[approval: ${chunk.approvalId}]\n`;
  if (chunk.type !== "error") return "";
  const colon = chunk.errorText.indexOf(": ");
  return `\n[error: ${chunk.errorText.slice(0, colon)}] ${chunk.errorText.slice(colon + 2)}\n`;
}

/** UTF-8, where a surrogate pair may come in two pieces. */
class StreamEncoder {
  readonly #encoder = new TextEncoder();
  #held = "";

  encode(text: string): Uint8Array {
    const all = this.#held + text;
    const endsInHalf = isHighSurrogate(all.charCodeAt(all.length - 1));
    this.#held = endsInHalf ? all.slice(-1) : "";
    return this.#encoder.encode(endsInHalf ? all.slice(0, -1) : all);
  }
}
