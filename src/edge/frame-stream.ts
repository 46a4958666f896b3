import type { UIMessageChunk } from "ai";
import { limits } from "../limits.ts";
import type { Frame, TurnLog } from "../turn/turn-log.ts";
import { isHighSurrogate } from "../value/json.ts";

/**
 * The UI message stream as server-sent events: from the frame at this index on, or else what the request's
 * own turn says.
 */
export function eventStream(log: TurnLog, first?: number): ReadableStream<Uint8Array> {
  return watch(log, first, {
    write: ({ id, data }) => `id: ${id}\ndata: ${data}\n\n`,
    last: "data: [DONE]\n\n",
    keepAlive: ": waiting\n\n",
  });
}

/** The answer's text alone; a call that waits for approval, or an error, is a line that says so. */
export function textStream(log: TurnLog, first?: number): ReadableStream<Uint8Array> {
  let hasText = false;
  const write = ({ data }: Frame) => {
    // The log made it of a chunk.
    const chunk = JSON.parse(data) as UIMessageChunk;
    // Texts of several steps are paragraphs of one answer.
    const gap = chunk.type === "text-start" && hasText ? "\n\n" : "";
    hasText ||= chunk.type === "text-delta";
    return gap + textOf(chunk);
  };
  return watch(log, first, { write, last: "", keepAlive: "" });
}

interface Form {
  readonly write: (frame: Frame) => string;
  readonly last: string;
  readonly keepAlive: string;
}

function watch(log: TurnLog, from: number | undefined, form: Form): ReadableStream<Uint8Array> {
  const encoder = new StreamEncoder();
  let first = from;
  let next = from ?? 0;
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      for (;;) {
        if (next >= log.length && !log.isEnded) {
          const isNews = await log.news(limits.keepAliveMs);
          if (isNews || form.keepAlive === "") continue;
          return controller.enqueue(encoder.encode(form.keepAlive));
        }
        if (first === undefined) next = first = log.firstOwn;
        // Parts that are ready together leave in one write.
        const isEnded = log.isEnded;
        const frames = log.slice(next, first);
        next = Math.max(next, log.length);
        const bytes = encoder.encode(frames.map(form.write).join("") + (isEnded ? form.last : ""));
        if (bytes.length > 0) controller.enqueue(bytes);
        if (isEnded) return controller.close();
        if (bytes.length > 0) return;
      }
    },
  });
}

/** A step that was called off has been read: what follows is a new beginning of it. */
function textOf(chunk: UIMessageChunk): string {
  if (chunk.type === "text-delta") return chunk.delta;
  if (chunk.type === "reset-step")
    return "\n[reset: what follows stands in for this answer's end]\n";
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
