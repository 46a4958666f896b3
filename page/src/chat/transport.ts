import { DefaultChatTransport, type UIMessage } from "ai";
import { ClientError } from "../../../src/client.ts";
import { follow } from "../../../src/client/follow.ts";
import type { Session } from "../session.ts";

/** How long a person waited for the first part of an answer, in milliseconds. */
export type FirstParts = ReadonlyMap<string, number>;

export interface TransportOptions {
  readonly session: Session;
  /** Asked when a message is sent. */
  readonly agent: () => string | undefined;
  readonly onFirstPart: (messageId: string, waitedMs: number) => void;
  /** Called with the first frame of an answer, before anything of it is shown: the server has the question. */
  readonly onAcknowledged: () => void;
  /**
   * Called when a turn that runs is joined, before any of its stream is read: the question may be one that
   * this page has not seen.
   */
  readonly onJoined: () => Promise<void>;
  /** The connection is lost in the middle of an answer, and made again; or it is there again. */
  readonly onLost: (isLost: boolean) => void;
}

/** The stock transport: the server has all messages but the last, so only that is sent. */
export function transportFor(options: TransportOptions) {
  const { session, agent } = options;
  const stream = `/conversations/${encodeURIComponent(session.conversation)}/stream`;
  return new DefaultChatTransport<UIMessage>({
    api: "/conversations",
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
      body: { id, messages: messages.slice(-1), trigger, messageId, agent: agent() },
    }),
    prepareReconnectToStreamRequest: () => ({ api: stream }),
    fetch: async (url, init) => {
      const sentMs = performance.now();
      const response = await session.fetch(String(url), init);
      // Of an answer without a body browsers may give an empty one.
      if (response.status === 204) return response;
      const isPost = init?.method === "POST";
      if (!isPost) await options.onJoined();
      const onFirstPart = (id: string) => options.onFirstPart(id, performance.now() - sentMs);
      const { onAcknowledged } = options;
      const frames = wholeStream({ ...options, stream, response, signal: init?.signal });
      return new Response(bodyOf(frames, isPost ? { onFirstPart, onAcknowledged } : {}), response);
    },
  });
}

/** Pauses before each try to connect again: enough for a restart, or a tunnel. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000, 8_000];

interface StreamOptions extends Pick<TransportOptions, "session" | "onLost"> {
  /** Where the rest of it is. */
  readonly stream: string;
  /** Which it begins with. */
  readonly response: Response;
  readonly signal: AbortSignal | null | undefined;
}

/** The data of an answer's frames, each once, over as many connections as it takes. */
async function* wholeStream(options: StreamOptions): AsyncGenerator<string, void> {
  const { session, stream, response, signal, onLost } = options;
  let first: Response | undefined = response;
  const open = async (after: string | undefined) => {
    const begun = first;
    first = undefined;
    if (begun !== undefined) return begun;
    const query = after === undefined ? "" : `?after=${after}`;
    const rest = await session.fetch(stream + query, { signal: signal ?? null }).catch(rethrow);
    if (rest.status === 204) throw gone();
    onLost(false);
    return rest;
  };
  const retryMs = (failures: number) => {
    const pause = PAUSES_MS[failures - 1];
    onLost(pause !== undefined);
    return pause;
  };
  let hasBegun = false;
  // What was asked has arrived: this is the answer to it.
  const asked = { options: { retryMs }, open, mayRepeat: true, signal: signal ?? undefined };
  try {
    for await (const { data } of follow(asked)) {
      const isStart = data.startsWith('{"type":"start",');
      // No turn begins twice: it is the next one that is told now.
      if (isStart && hasBegun) throw gone();
      hasBegun ||= isStart;
      yield data;
    }
  } finally {
    onLost(false);
  }
}

/** What passes is told from what does not; browsers each have words of their own for no network. */
function rethrow(error: unknown): never {
  const isPassing =
    error instanceof TypeError || (error instanceof ClientError && error.status >= 502);
  throw isPassing ? new ClientError("unreachable", String(error), { cause: error }) : error;
}

function gone(): ClientError {
  return new ClientError("turn_gone", "What has come of this answer is among the messages.");
}

const FIRST_PART =
  /^{"type":"(?:text-delta|tool-input-start|tool-input-available|reasoning-delta)"/;

interface Firsts {
  readonly onAcknowledged?: () => void;
  /** Called when something to see has come. */
  readonly onFirstPart?: (messageId: string) => void;
}

/** As the server sends it; tells of what comes first, once each. */
function bodyOf(
  frames: AsyncGenerator<string, void>,
  { onAcknowledged, onFirstPart }: Firsts,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let id: string | undefined;
  let acknowledge = onAcknowledged;
  let tell = onFirstPart;
  return new ReadableStream({
    async pull(controller) {
      const { value: data } = await frames.next();
      if (data === undefined) return controller.close();
      acknowledge?.();
      acknowledge = undefined;
      id ??= /"messageId":"([^"]+)"/.exec(data)?.[1];
      if (FIRST_PART.test(data)) {
        tell?.(id ?? "");
        tell = undefined;
      }
      controller.enqueue(encoder.encode(`data: ${data}\n\n`));
    },
    async cancel() {
      await frames.return();
    },
  });
}
