import type { AlarmClock } from "./platform/alarm-clock.ts";
import type { ConversationData } from "./conversation-data.ts";
import type { Deletion } from "./deletion.ts";
import type { TurnQueue } from "./turns/turn-queue.ts";
import type { Turns } from "./turns/turns.ts";

export interface UpkeepOptions {
  readonly alarmClock: AlarmClock;
  readonly deletion: Deletion;
  readonly queue: Pick<TurnQueue, "isRunning">;
  readonly turns: () => Pick<Turns, "watchOver">;
  /** Undefined until something is written. */
  readonly data: () => ConversationData | undefined;
  /** Called when something has changed, or may have. */
  readonly onSettled: () => void;
  readonly state: Pick<DurableObjectState, "waitUntil">;
}

/** What a conversation does by itself: it watches what runs, evicts, sweeps, and ends some day. */
export class Upkeep {
  readonly #options: UpkeepOptions;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** The alarm's. Runs twice without harm. Does not throw: after some tries the platform gives it up. */
  async ring(): Promise<void> {
    const { alarmClock, deletion, queue, turns } = this.#options;
    try {
      await alarmClock.ring(async () => {
        await deletion.whenDone();
        await turns().watchOver(() => this.#evictDue());
        await this.#sweepDue();
      });
    } catch (error) {
      console.error(error);
      // What cannot even be put off is asked of the platform's own retries, or of whoever comes next.
      await alarmClock.setBy(Date.now() + ALARM_RETRY_MS).catch(console.error);
    }
    // One that has begun meanwhile, or takes longer than an alarm may.
    if (queue.isRunning) alarmClock.watch();
  }

  /** Writes what is to be known of a change, sees to what it left behind, and arms the alarm. */
  async settle({ endsTurn = false } = {}): Promise<void> {
    const { alarmClock, onSettled, state } = this.#options;
    const data = this.#options.data();
    if (data === undefined) return;
    data.events.flush();
    onSettled();
    // Nobody waits for what is only to be thrown away; what fails is tried again by the alarm.
    if (data.store.hasGarbage()) {
      state.waitUntil(data.store.sweep().catch((error: unknown) => console.error(error)));
    }
    // The running turn's alarm has gone off, or is about to.
    await (endsTurn ? alarmClock.move(data.dueMs) : alarmClock.setBy(data.dueMs));
  }

  /** False if there may be more. */
  #evictDue(): boolean {
    const data = this.#options.data();
    const evicted = data?.store.evictDue(Date.now(), EVICTIONS_PER_ALARM) ?? [];
    return evicted.length < EVICTIONS_PER_ALARM;
  }

  /** Sweeps what is due, then waits for what is due next. */
  async #sweepDue(): Promise<void> {
    const { alarmClock, deletion, onSettled } = this.#options;
    const data = this.#options.data();
    if (data === undefined) return;
    data.store.flushAccess();
    const now = Date.now();
    if (deletion.isIdle && data.isIdle(now)) return deletion.start();
    const isDone = this.#evictDue();
    data.events.prune();
    data.events.flush();
    onSettled();
    if (data.store.hasGarbage()) await data.store.sweep();
    // What is due already waits for something that runs.
    await alarmClock.setBy(isDone ? Math.max(data.dueMs, now + ALARM_PAUSE_MS) : now);
  }
}

/** Evictions in one pass of the alarm; what is left goes in the next, which follows at once. */
const EVICTIONS_PER_ALARM = 500;

/** Between two passes of the alarm, at least. */
const ALARM_PAUSE_MS = 1_000;

/** After a pass that failed. */
const ALARM_RETRY_MS = 60_000;
