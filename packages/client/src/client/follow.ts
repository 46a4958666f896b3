import type { ClientOptions } from "./connection.ts";
import { type Frame, readFrames } from "./read-frames.ts";
import { retriesFor } from "./retries.ts";

export interface FollowOptions {
  readonly options: ClientOptions;
  /** Requests the stream, or the part of it after the frame with this id. */
  readonly open: (after: string | undefined) => Promise<Response>;
  /**
   * True if the request may be repeated before any frame has arrived, although the server may have received
   * it.
   */
  readonly mayRepeat: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Yields each frame once, reconnecting as needed, until the stream's own end mark. */
export async function* follow({
  options,
  open,
  mayRepeat,
  signal,
}: FollowOptions): AsyncGenerator<Frame, void> {
  const { silenceMs = SILENCE_MS } = options;
  const { waitAfter, reset } = retriesFor(options, signal);
  let after: string | undefined;
  for (;;) {
    try {
      const { body, status } = await open(after);
      if (status === 204) return;
      for await (const frame of readFrames(body, { onLife: reset, silenceMs, signal })) {
        if (frame.data === "[DONE]") return;
        after = frame.id ?? after;
        yield frame;
      }
    } catch (error) {
      if (after === undefined && !mayRepeat) throw error;
      await waitAfter(error);
    }
  }
}

const SILENCE_MS = 60_000;
