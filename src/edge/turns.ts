import { UI_MESSAGE_STREAM_HEADERS } from "ai";
import { ByrefError } from "../errors.ts";
import { Queue } from "../turn/queue.ts";
import { TurnLog } from "./turn-log.ts";

/** What a turn is given to run with. */
export interface TurnSlot {
  readonly log: TurnLog;
  /** Aborted when somebody stops the turn. */
  readonly signal: AbortSignal;
}

/**
 * A conversation's turns: one at a time, in the order of arrival. The frames of the last one stay until
 * the next begins, so that whoever was cut off gets the rest.
 */
export class Turns {
  readonly #queue = new Queue();
  #last: { readonly log: TurnLog; readonly stopping?: AbortController } | undefined;
  #begun = 0;

  get isRunning(): boolean {
    return this.#queue.length > 0;
  }

  /** Throws `too_many_turns` at once if as many as may wait do. */
  take<Result>(
    signal: AbortSignal,
    work: (slot: TurnSlot) => Promise<Result>,
  ): { readonly log: TurnLog; readonly result: Promise<Result> } {
    const log = new TurnLog();
    const result = this.#queue.run(async () => {
      const stopping = new AbortController();
      this.#begun++;
      log.begin(this.#begun);
      this.#last = { log, stopping };
      try {
        return await work({ log, signal: AbortSignal.any([signal, stopping.signal]) });
      } finally {
        this.#last = { log };
      }
    });
    return { log, result };
  }

  /** Stops the turn that runs; false if none does. */
  stop(): boolean {
    const stopping = this.#last?.stopping;
    stopping?.abort(new ByrefError("turn_stopped", "The turn was stopped."));
    return stopping !== undefined;
  }

  /**
   * The running turn's frames from the first, or the last turn's behind the frame `after`, and what is
   * still to come; 204 if there is nothing to watch.
   */
  watch(after?: number): Response {
    const { log, stopping } = this.#last ?? {};
    const isOver = stopping === undefined && after === undefined;
    if (log === undefined || isOver) return new Response(null, { status: 204 });
    const headers = { ...UI_MESSAGE_STREAM_HEADERS, "cache-control": "no-cache" };
    return new Response(log.eventStream(after), { headers });
  }

  /** Nobody may have the frames any more. */
  forget(): void {
    this.#last = undefined;
  }
}
