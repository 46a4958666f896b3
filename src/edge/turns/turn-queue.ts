import { UI_MESSAGE_STREAM_HEADERS } from "ai";
import { ByrefError } from "../../errors.ts";
import { Queue } from "../../turn/queue.ts";
import { TurnLog } from "../../turn/log/turn-log.ts";
import { eventStream } from "../http/frame-stream.ts";

/** What a turn is given to run with. */
export interface TurnSlot {
  readonly log: TurnLog;
  /** Aborted when somebody stops the turn. */
  readonly signal: AbortSignal;
}

export interface TurnQueueOptions {
  /** Resolves when what was written until now will survive a crash. */
  readonly durable: () => Promise<void>;
  /** The log of the newest turn as it was written down, if there was one. */
  readonly readLast: () => TurnLog | undefined;
}

/**
 * A conversation's turns: one at a time, in the order of arrival. What the last one has said stays until
 * the next begins, so that whoever was cut off gets the rest.
 */
export class TurnQueue {
  readonly #options: TurnQueueOptions;
  readonly #queue = new Queue();
  #running: { readonly log: TurnLog; readonly stopping: AbortController } | undefined;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#queue.length > 0;
  }

  /** The log of the turn that runs. */
  get running(): TurnLog | undefined {
    return this.#running?.log;
  }

  /** Resolves when no turn runs or waits. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** Throws `too_many_turns` at once if as many as may wait do. */
  take<Result>(
    signal: AbortSignal,
    work: (slot: TurnSlot) => Promise<Result>,
  ): { readonly log: TurnLog; readonly result: Promise<Result> } {
    const log = new TurnLog({ durable: this.#options.durable });
    const result = this.#queue.run(async () => {
      const stopping = new AbortController();
      this.#running = { log, stopping };
      try {
        return await work({ log, signal: AbortSignal.any([signal, stopping.signal]) });
      } finally {
        log.close();
        // What it has said is written down.
        this.#running = undefined;
      }
    });
    return { log, result };
  }

  /** Stops the turn that runs; false if none does. */
  stop(): boolean {
    const stopping = this.#running?.stopping;
    stopping?.abort(turnStopped());
    return stopping !== undefined;
  }

  /**
   * The running turn's frames from the first, or the last turn's behind the frame `after`, and what is
   * still to come; 204 if there is nothing to watch.
   */
  watch(after?: number): Response {
    const last = () => (after === undefined ? undefined : this.#options.readLast());
    const log = this.#running?.log ?? last();
    if (log === undefined) return new Response(null, { status: 204 });
    const first = after === undefined ? 0 : log.indexAfter(after);
    const headers = { ...UI_MESSAGE_STREAM_HEADERS, "cache-control": "no-cache" };
    return new Response(eventStream(log, first), { headers });
  }
}

export function turnStopped(): ByrefError {
  return new ByrefError("turn_stopped", "The turn was stopped.");
}
