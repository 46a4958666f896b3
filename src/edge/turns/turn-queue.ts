import { UI_MESSAGE_STREAM_HEADERS } from "ai";
import { ByrefError } from "../../errors.ts";
import { TurnLog } from "../../turn/log/turn-log.ts";
import { Queue } from "../../turn/queue.ts";
import { type Cost, costSince } from "../../turn/spend/cost.ts";
import type { LeaseOffice } from "../../turn/spend/lease-office.ts";
import type { SpendLimits } from "../../turn/spend/spend.ts";
import type { Facilities } from "../../turn/toolbox.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { Deletion } from "../deletion.ts";
import { messageStream } from "../http/frame-stream.ts";
import type { AlarmClock } from "../platform/alarm-clock.ts";
import type { DurableSql } from "../platform/durable-sql.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

export interface TurnQueueOptions {
  readonly state: Pick<DurableObjectState, "id">;
  readonly sql: DurableSql;
  readonly alarmClock: AlarmClock;
  readonly deletion: Deletion;
  readonly facilities: () => Facilities;
  readonly spendLimits: SpendLimits;
  readonly telemetry: TurnContext["telemetry"];
  readonly leases: LeaseOffice | undefined;
  /** Undefined until something is written. */
  readonly data: () => ConversationData | undefined;
  /** Makes the tables, and sets the alarm. */
  readonly wake: (dueMs: number) => ConversationData;
  /** Called when a turn, by its id, or a run is about to be written down for the first time. */
  readonly onBegin: (turn?: string) => void;
  /** Sees to what a turn leaves behind. */
  readonly settle: (end: { readonly endsQueue: boolean }) => Promise<void>;
}

/** What a turn, or a run of a plan, is given when its time has come. */
export interface TurnContext {
  readonly log: TurnLog;
  /** Aborted when somebody stops the turn. */
  readonly signal: AbortSignal;
  /** The object's id, which the platform makes of tenant and conversation. */
  readonly keyPrefix: string;
  /** What the runtime's own tools work with. */
  readonly facilities: Facilities;
  readonly spendLimits: SpendLimits;
  readonly leases: LeaseOffice | undefined;
  /** Who is told what became of it. */
  readonly telemetry: Pick<Telemetry, "watch">;
  /** Of the turn so far. */
  readonly cost: () => Cost;
  /** Called when the turn is about to be written down for the first time, in the same commit; with its id. */
  readonly onBegin: (turn?: string) => void;
}

/** What has its place in the queue, or had it. */
export interface QueuedTurn<Result> {
  readonly log: TurnLog;
  readonly result: Promise<Result>;
  /** Where its stream begins, if not where the turn's own frames do. */
  readonly first?: number;
}

interface RunningTurn {
  readonly log: TurnLog;
  readonly stopping: AbortController;
}

/**
 * What a conversation does, one after the other, in the order of arrival: its turns, and the runs of its
 * plans. What the last one has said stays until the next begins, so that whoever was cut off gets the rest.
 */
export class TurnQueue {
  readonly #options: TurnQueueOptions;
  readonly #queue = new Queue();
  readonly #stopping = new WeakMap<TurnLog, AbortController>();
  #running: RunningTurn | undefined;

  constructor(options: TurnQueueOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#queue.length > 0;
  }

  /** The log of what runs. */
  get running(): TurnLog | undefined {
    return this.#running?.log;
  }

  /** Resolves when nothing runs or waits. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** Stops what runs; false if nothing does. */
  stop(): boolean {
    const running = this.#running;
    running?.stopping.abort(turnStopped());
    return running !== undefined;
  }

  /** Stops this one, and no other, whether it runs or waits. */
  stopOne(log: TurnLog): void {
    this.#stopping.get(log)?.abort(turnStopped());
  }

  /** Throws `too_many_turns` at once if as many as may wait do. */
  take<Result>(
    work: (data: ConversationData, context: TurnContext) => Promise<Result>,
  ): QueuedTurn<Result> {
    const { sql, deletion } = this.#options;
    const log = new TurnLog({ durable: () => sql.sync() });
    // What still waits is stopped too by a deletion: what it was said to is gone.
    const stopping = new AbortController();
    const result = this.#queue.run(async () => {
      this.#running = { log, stopping };
      try {
        return await this.#run(this.#running, work);
      } finally {
        log.close();
        // What it has said is written down.
        this.#running = undefined;
      }
    });
    this.#stopping.set(log, stopping);
    return { log, result: deletion.stoppable(stopping, result) };
  }

  async #run<Result>(
    { log, stopping: { signal } }: RunningTurn,
    work: (data: ConversationData, context: TurnContext) => Promise<Result>,
  ): Promise<Result> {
    const { wake, sql, alarmClock, facilities, onBegin, settle } = this.#options;
    const { state, spendLimits, leases, telemetry } = this.#options;
    // Making the tables is the conversation's cost, not the turn's.
    const data = wake(Date.now());
    const before = sql.cost;
    try {
      return await work(data, {
        log,
        signal,
        keyPrefix: String(state.id),
        facilities: facilities(),
        spendLimits,
        leases,
        telemetry,
        cost: () => alarmClock.withAlarm(costSince(before, sql.cost)),
        onBegin: (turn) => {
          // The alarm's handler watches over it; if the handler runs already this does nothing.
          void alarmClock.setBy(Date.now());
          onBegin(turn);
        },
      });
    } finally {
      await settle({ endsQueue: this.#queue.length === 1 });
    }
  }

  /**
   * The running turn's frames from the first, or the last turn's behind the frame `after`, and what is
   * still to come; 204 if there is nothing to watch.
   */
  watch(after?: number): Response {
    const log = this.running ?? (after === undefined ? undefined : this.#lastLog());
    if (log === undefined) return new Response(null, { status: 204 });
    const first = after === undefined ? 0 : log.indexAfter(after);
    const headers = { ...UI_MESSAGE_STREAM_HEADERS, "cache-control": "no-cache" };
    return new Response(messageStream(log, first), { headers });
  }

  /** As it was written down, if there was a turn. */
  #lastLog(): TurnLog | undefined {
    const journal = this.#options.data()?.journal;
    return journal?.head()?.isOpen === false ? TurnLog.ended(journal) : undefined;
  }
}

function turnStopped(): ByrefError {
  return new ByrefError("turn_stopped", "The turn was stopped.");
}
