import { costSince } from "../../turn/spend/cost.ts";
import type { LeaseOffice } from "../../turn/spend/lease.ts";
import type { SpendLimits } from "../../turn/spend/spend.ts";
import type { Facilities } from "../../turn/toolbox.ts";
import { TurnLog } from "../../turn/log/turn-log.ts";
import type { AlarmClock } from "../platform/alarm-clock.ts";
import type { Cast } from "../cast.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { Deletion } from "../deletion.ts";
import type { DurableSql } from "../platform/durable-sql.ts";
import type { TurnRun } from "./play.ts";
import { TurnQueue, turnStopped, type TurnSlot } from "./turn-queue.ts";

export interface LaneOptions {
  readonly sql: DurableSql;
  readonly alarmClock: AlarmClock;
  readonly deletion: Deletion;
  readonly facilities: () => Facilities;
  readonly spendLimits: SpendLimits;
  readonly telemetry: TurnRun["telemetry"];
  readonly leases: LeaseOffice | undefined;
  /** Undefined until something is written. */
  readonly data: () => ConversationData | undefined;
  /** Makes the tables, and sets the alarm. */
  readonly wake: (dueMs: number) => ConversationData;
  /** Called when a turn, or a run, is about to be written down for the first time. */
  readonly onBegin: () => void;
  /** Sees to what a turn leaves behind. */
  readonly settle: () => Promise<void>;
}

/** Something that has its place in the lane, or had it. */
export interface Lined<Result> {
  readonly log: TurnLog;
  readonly result: Promise<Result>;
}

/** What a turn, or a run of a plan, does when its time has come. */
export type Work<Result> = (data: ConversationData, run: TurnRun) => Promise<Result>;

/** What a conversation does, one after the other: its turns, and the runs of its plans. */
export class Lane {
  readonly #options: LaneOptions;
  readonly #queue: TurnQueue;
  readonly #stopping = new WeakMap<TurnLog, AbortController>();

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#queue = new TurnQueue({
      durable: () => options.sql.sync(),
      readLast: () => {
        const journal = options.data()?.journal;
        return journal?.head()?.isOpen === false ? TurnLog.ended(journal) : undefined;
      },
    });
  }

  get isRunning(): boolean {
    return this.#queue.isRunning;
  }

  /** Undefined if nothing runs. */
  get running(): TurnLog | undefined {
    return this.#queue.running;
  }

  /** Resolves when nothing runs or waits. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** Stops what runs; false if nothing does. */
  stop(): boolean {
    return this.#queue.stop();
  }

  /** Stops this one, and no other, whether it runs or waits. */
  stopOne(log: TurnLog): void {
    this.#stopping.get(log)?.abort(turnStopped());
  }

  watch(after?: number): Response {
    return this.#queue.watch(after);
  }

  /** Throws `too_many_turns` at once if as many as may wait do. */
  take<Result>(castNow: () => Cast, work: Work<Result>): Lined<Result> {
    // What still waits is stopped too by a deletion: what it was said to is gone.
    const stopping = new AbortController();
    const { log, result } = this.#queue.take(stopping.signal, (slot) =>
      this.#play(slot, castNow, work),
    );
    this.#stopping.set(log, stopping);
    return { log, result: this.#options.deletion.stoppable(stopping, result) };
  }

  async #play<Result>(slot: TurnSlot, castNow: () => Cast, work: Work<Result>): Promise<Result> {
    const { wake, sql, alarmClock, facilities, onBegin, settle } = this.#options;
    const { spendLimits, leases, telemetry } = this.#options;
    // Making the tables is the conversation's cost, not the turn's.
    const data = wake(Date.now());
    const before = sql.cost;
    try {
      return await work(data, {
        ...slot,
        castNow,
        facilities: facilities(),
        spendLimits,
        telemetry,
        leases,
        cost: () => alarmClock.withAlarm(costSince(before, sql.cost)),
        onBegin: () => {
          alarmClock.watch();
          onBegin();
        },
      });
    } finally {
      await settle();
    }
  }
}
