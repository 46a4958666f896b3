import type { UIMessageChunk } from "ai";
import * as limits from "../../limits.ts";
import type { Frame, TurnLog } from "../../turn/log/turn-log.ts";
import { isHighSurrogate } from "../../value/characters.ts";
import { isObject } from "../../value/json.ts";

/**
 * The UI message stream as server-sent events: from the frame at this index on, or else what the request's
 * own turn says.
 */
export function messageStream(log: TurnLog, first?: number): ReadableStream<Uint8Array> {
  return watch(log, first, {
    write: ({ id, data }) => `id: ${id}\ndata: ${data}\n\n`,
    last: "data: [DONE]\n\n",
    keepAlive: ": waiting\n\n",
  });
}

/** The answer's text alone; a call that waits, an error, and what becomes of a plan's calls are lines. */
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

function watch(log: TurnLog, first: number | undefined, form: Form): ReadableStream<Uint8Array> {
  const encoder = new StreamEncoder();
  const all = framesOf(log, first);
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      for (let hasWritten = false; !hasWritten;) {
        const { value: frames, done } = await all.next();
        const silence = frames?.length === 0 ? form.keepAlive : "";
        const text = done === true ? form.last : silence + (frames ?? []).map(form.write).join("");
        const bytes = encoder.encode(text);
        hasWritten = bytes.length > 0;
        if (hasWritten) controller.enqueue(bytes);
        if (done === true) return controller.close();
      }
    },
    // Not waited for: it ends when the silence does.
    cancel: () => void all.return(),
  });
}

/**
 * The frames that are there together, until there are no more; none of them if there is silence for long.
 * Without `from`: what the turn itself says, once it has begun.
 */
export async function* framesOf(
  log: TurnLog,
  from?: number,
): AsyncGenerator<readonly Frame[], void> {
  let first = from;
  let next = from ?? 0;
  for (;;) {
    while (next >= log.length && !log.isEnded) {
      if (!(await log.waitForFrames(limits.keepAliveMs))) yield [];
    }
    if (first === undefined) next = first = log.firstOwn;
    // No more than a slow reader may keep waiting.
    const end = log.endWithin(next, limits.maxSliceChars);
    const frames = log.slice(next, first, end);
    next = Math.max(next, end);
    const isEnded = log.isEnded && next >= log.length;
    if (frames.length > 0) yield frames;
    if (isEnded) return;
  }
}

/** A step that was called off has been read: what follows is a new beginning of it. */
function textOf(chunk: UIMessageChunk): string {
  if (chunk.type === "text-delta") return chunk.delta;
  if (chunk.type === "reset-step")
    return "\n\n[reset: what follows stands in for this answer's end]\n\n";
  if (chunk.type === "tool-approval-request") return `\n[approval: ${chunk.approvalId}]\n`;
  if (chunk.type === "data-call" || chunk.type === "data-run") return lineOf(chunk.data);
  if (chunk.type !== "error") return "";
  const colon = chunk.errorText.indexOf(": ");
  return `\n[error: ${chunk.errorText.slice(0, colon)}] ${chunk.errorText.slice(colon + 2)}\n`;
}

/** Of a plan's run: what became of a call, and of all of it. */
function lineOf(data: unknown): string {
  if (!isObject(data)) return "";
  const { call = "run", status, reason } = data;
  return `${String(call)}: ${String(status)}${reason === undefined ? "" : ` (${String(reason)})`}\n`;
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
