import { type ClientOptions, withNetworkErrors } from "./connection.ts";
import { ClientError } from "./client-error.ts";

interface FollowOptions {
  readonly options: ClientOptions;
  /** Requests the stream, or the part of it after the frame with this id. */
  readonly open: (after: string | undefined) => Promise<Response>;
  /** True if the request may be repeated before any frame has arrived, although the server may have received it. */
  readonly mayRepeat?: boolean | undefined;
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
      for await (const frame of readFrames(body, reset, silenceMs, signal)) {
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

/** A server-sent event. */
interface Frame {
  readonly id: string | undefined;
  readonly data: string;
}

/**
 * Reads the frames of a stream with its own end mark. If the stream ends without it, stays silent for too
 * long or loses its connection, throws `unreachable`. Closes the connection when the reader stops. Calls `onLife` for
 * each piece of received data, comments included.
 */
async function* readFrames(
  body: ReadableStream<Uint8Array> | null,
  onLife: () => void,
  silenceMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Frame, never> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  // A pending read then returns the stream's end.
  const close = () => void reader?.cancel().catch(() => {});
  // A line that arrives in pieces is joined once.
  let pieces: string[] = [];
  let id: string | undefined;
  let data = "";
  try {
    for (;;) {
      const timer = setTimeout(close, silenceMs);
      const read = await withNetworkErrors(signal, async () => reader?.read()).finally(() =>
        clearTimeout(timer),
      );
      if (read?.value === undefined) throw new ClientError("unreachable", "The stream broke.");
      onLife();
      const [first = "", ...others] = decoder.decode(read.value, { stream: true }).split("\n");
      pieces.push(first);
      for (const next of others) {
        // A proxy may end lines with CRLF, or leave out the space.
        const line = pieces.join("").trim();
        pieces = [next];
        // The server writes one line of each field per frame.
        if (line.startsWith("id:")) id = line.slice(3).trim();
        if (line.startsWith("data:")) data = line.slice(5).trim();
        if (line !== "" || data === "") continue;
        yield { id, data };
        id = undefined;
        data = "";
      }
    }
  } finally {
    close();
  }
}

const MAX_FAILURES = 12;
const FIRST_MS = 500;
const LONGEST_MS = 8_000;

/**
 * `waitAfter` waits before the next try; it throws the error if a retry cannot help, or after too many failures in a row.
 * `reset` is called after a success.
 */
export function retriesFor({ retryMs = backOff }: ClientOptions, signal: AbortSignal | undefined) {
  let failures = 0;
  return {
    waitAfter: async (error: unknown): Promise<void> => {
      signal?.throwIfAborted();
      const ms = isPassing(error) ? retryMs(++failures) : undefined;
      if (ms === undefined) throw error;
      // The next request throws the reason of an abort.
      await pause(ms, signal);
    },
    reset: () => void (failures = 0),
  };
}

/** True for the error of a server that may be there again soon. */
export function isPassing(error: unknown): boolean {
  return error instanceof ClientError && ["unreachable", "unavailable"].includes(error.code);
}

/** The default of `retryMs`: gives up after 35 to 106 seconds, which outlasts a deploy. */
export function backOff(failures: number): number | undefined {
  return failures > MAX_FAILURES ? undefined : pauseMs(failures);
}

/**
 * The pause after so many failures in a row. Random between half and one and a half of a time that doubles, so that
 * clients which lost a server together do not return together.
 */
export function pauseMs(failures: number): number {
  const ms = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
  return ms * (0.5 + Math.random());
}

/** Resolves when the time is over, or the signal is aborted. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
