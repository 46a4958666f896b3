import type { UIMessageChunk } from "ai";
import type { Frame } from "../../turn/log/turn-log.ts";
import { typeOf } from "../../turn/log/recovery.ts";

/** Types of chunks that came with AI SDK 7. Clients of AI SDK 6 refuse them, and with them the stream. */
const SINCE_7: ReadonlySet<string> = new Set([
  "custom",
  "reasoning-file",
  "reset-step",
  "tool-approval-response",
]);

/** True for a client that asks for `text/event-stream;sdk=6`. */
export function isForSdk6(accept: string | null): boolean {
  return /\btext\/event-stream\s*;\s*sdk=6\b/iu.test(accept ?? "");
}

/**
 * Returns a function that converts frames for a client of AI SDK 6: newer chunks become transient data parts, for
 * example `data-reset-step`. Texts that a reset would remove stay; they are ended.
 */
export function framesForSdk6(): (frame: Frame) => readonly Frame[] {
  /** Chunks that end the open texts. */
  const open = new Set<string>();
  return (frame) => {
    const type = typeOf(frame.data);
    const { id, data } = frame;
    if (/^(?:text|reasoning)-(?:start|end)$/u.test(type)) {
      // The log encoded a chunk of such a type.
      const chunk = JSON.parse(data) as Extract<UIMessageChunk, { type: "text-start" }>;
      const end = JSON.stringify({ type: type.replace("start", "end"), id: chunk.id });
      if (type.endsWith("start")) open.add(end);
      else open.delete(end);
    }
    if (!SINCE_7.has(type)) return [frame];
    const ends = type === "reset-step" ? [...open] : [];
    if (type === "reset-step") open.clear();
    const part = `{"type":"data-${type}","data":${data},"transient":true}`;
    return [...ends, part].map((data) => ({ id, data }));
  };
}
