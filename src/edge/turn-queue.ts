import { UI_MESSAGE_STREAM_HEADERS } from "ai";
import { ByrefError } from "../errors.ts";
import { Queue } from "../turn/queue.ts";
import { TurnLog } from "../turn/turn-log.ts";
import { eventStream } from "./frame-stream.ts";

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
 * A conversation's turns: one at a time, in the order of arrival. The frames of the last one stay until
 * the next begins, so that whoever was cut off gets the rest.
 */
export class TurnQueue {
  readonly #options: TurnQueueOptions;
  readonly #queue = new Queue();
  #last: { readonly log: TurnLog; readonly stopping?: AbortController } | undefined;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#queue.length > 0;
  }

  /** The log of the turn that runs. */
  get running(): TurnLog | undefined {
    return this.#last?.stopping === undefined ? undefined : this.#last.log;
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
      this.#last = { log, stopping };
      try {
        return await work({ log, signal: AbortSignal.any([signal, stopping.signal]) });
      } finally {
        log.close();
        this.#last = { log };
      }
    });
    return { log, result };
  }

  /** Stops the turn that runs; false if none does. */
  stop(): boolean {
    const stopping = this.#last?.stopping;
    stopping?.abort(turnStopped());
    return stopping !== undefined;
  }

  /**
   * The running turn's frames from the first, or the last turn's behind the frame `after`, and what is
   * still to come; 204 if there is nothing to watch.
   */
  watch(after?: number): Response {
    const isOver = this.#last?.stopping === undefined;
    const log = isOver && after === undefined ? undefined : this.#lastLog();
    if (log === undefined) return new Response(null, { status: 204 });
    const first = after === undefined ? 0 : log.indexAfter(after);
    const headers = { ...UI_MESSAGE_STREAM_HEADERS, "cache-control": "no-cache" };
    return new Response(eventStream(log, first), { headers });
  }

  /** Nobody may have the frames any more. */
  forget(): void {
    this.#last = undefined;
  }

  #lastLog(): TurnLog | undefined {
    if (this.#last !== undefined) return this.#last.log;
    const log = this.#options.readLast();
    if (log !== undefined) this.#last = { log };
    return log;
  }
}

export function turnStopped(): ByrefError {
  return new ByrefError("turn_stopped", "The turn was stopped.");
}
