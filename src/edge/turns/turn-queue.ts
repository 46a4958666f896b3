import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { TurnLog } from "../../turn/log/turn-log.ts";
import type { Deletion } from "../deletion.ts";

interface TurnQueueOptions {
  readonly sql: { sync(): Promise<void> };
  readonly deletion: Pick<Deletion, "stoppable">;
}

/** A turn, or a run of a plan, that waits in the queue, runs or has ended. */
export interface QueuedTurn<Result> {
  readonly log: TurnLog;
  readonly result: Promise<Result>;
  /** The index of its first frame. Default: that of the turn's own frames. */
  readonly first?: number;
}

export interface RunningTurn {
  readonly log: TurnLog;
  /** The time it has waited; undefined if nothing was before it. */
  readonly queuedMs?: number | undefined;
  /** Aborted when the turn is stopped. */
  readonly signal: AbortSignal;
}

/** A conversation's turns and plan runs, one after the other in the order of arrival. */
export class TurnQueue {
  readonly #options: TurnQueueOptions;
  #tail: Promise<unknown> = Promise.resolve();
  /** Those that run or wait. */
  #waiting = 0;
  readonly #stopping = new WeakMap<TurnLog, AbortController>();
  #running: TurnLog | undefined;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#waiting > 0;
  }

  /** True while nothing waits behind the running turn. */
  get isLast(): boolean {
    return this.#waiting === 1;
  }

  /** The log of the running turn. */
  get running(): TurnLog | undefined {
    return this.#running;
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    for (let tail; tail !== this.#tail;) {
      tail = this.#tail;
      await tail;
    }
  }

  /** Stops the running turn; returns false if there is none. */
  stop(): boolean {
    const log = this.#running;
    if (log !== undefined) this.stopOne(log);
    return log !== undefined;
  }

  /** Stops only this turn, whether it runs or waits. */
  stopOne(log: TurnLog): void {
    this.#stopping.get(log)?.abort(new ByrefError("turn_stopped", "The turn was stopped."));
  }

  /** Throws `rate_limited` at once if the queue is full. */
  take<Result>(work: (turn: RunningTurn) => Promise<Result>): QueuedTurn<Result> {
    if (this.#waiting > limits.maxQueuedTurns) {
      const message = `${limits.maxQueuedTurns} messages are waiting for an answer; try again later.`;
      throw new ByrefError("rate_limited", message);
    }
    const { sql, deletion } = this.#options;
    const log = new TurnLog({ durable: () => sql.sync() });
    const stopping = new AbortController();
    const { isRunning } = this;
    const queuedAtMs = Date.now();
    const run = async () => {
      this.#running = log;
      try {
        return await work({
          log,
          queuedMs: isRunning ? Math.max(Date.now() - queuedAtMs, 0) : undefined,
          signal: stopping.signal,
        });
      } finally {
        log.close();
        // The whole log is in SQLite.
        this.#running = undefined;
      }
    };
    this.#waiting++;
    const result = this.#tail.then(run).finally(() => void this.#waiting--);
    // A turn that fails does not stop the next.
    this.#tail = result.catch(() => undefined);
    this.#stopping.set(log, stopping);
    // A deletion also stops waiting turns.
    return { log, result: deletion.stoppable(stopping, result) };
  }
}
