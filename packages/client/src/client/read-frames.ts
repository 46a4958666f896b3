import { ClientError } from "./client-error.ts";
import { withNetworkErrors } from "./connection.ts";

/** A server-sent event. */
export interface Frame {
  readonly id: string | undefined;
  readonly data: string;
}

export interface ReadOptions {
  /** Called for each piece of received data, comments included. */
  readonly onLife: () => void;
  readonly silenceMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads the frames of a stream with its own end mark. If the stream ends without it, stays silent for too
 * long or loses its connection, throws `unreachable`. Closes the connection when the reader stops.
 */
export async function* readFrames(
  body: ReadableStream<Uint8Array> | null,
  { onLife, silenceMs, signal }: ReadOptions,
): AsyncGenerator<Frame, never> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  const take = frameReader();
  // A pending read then returns the stream's end.
  const close = () => void reader?.cancel().catch(() => {});
  try {
    for (;;) {
      const timer = setTimeout(close, silenceMs);
      const read = await withNetworkErrors(signal, async () => reader?.read()).finally(() =>
        clearTimeout(timer),
      );
      if (read?.value === undefined) {
        throw new ClientError("unreachable", "The stream broke.");
      }
      onLife();
      yield* take(decoder.decode(read.value, { stream: true }));
    }
  } finally {
    close();
  }
}

/** Takes pieces of text and yields whole frames. A line that arrived in pieces is joined once. */
function frameReader(): (text: string) => Generator<Frame> {
  let pieces: string[] = [];
  let id: string | undefined;
  let data = "";
  return function* (text) {
    const [first = "", ...others] = text.split("\n");
    pieces.push(first);
    for (const next of others) {
      const line = pieces.join("");
      pieces = [next];
      // The server writes one line of each field per frame.
      if (line.startsWith("id: ")) id = line.slice(4);
      if (line.startsWith("data: ")) data = line.slice(6);
      if (line !== "" || data === "") continue;
      yield { id, data };
      id = undefined;
      data = "";
    }
  };
}
