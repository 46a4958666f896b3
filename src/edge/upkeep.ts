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

  /**
   * The alarm's handler. It lasts as long as the running turn, so that the platform calls it again if the
   * process dies. Idempotent. Does not throw, because the platform gives up a handler that does.
   */
  async ring(): Promise<void> {
    const { alarmClock, deletion, queue, turns } = this.#options;
    // A turn that began meanwhile, or outlasts the handler's time limit, needs the handler again at once.
    const arm = (dueMs: number) => alarmClock.rang(queue.isRunning ? Date.now() : dueMs);
    alarmClock.rings();
    try {
      await deletion.whenDone();
      await turns().watchOver(() => this.#evictDue());
      const pauseMs = await this.#sweepDue();
      // Work that is due already waits for a running turn.
      await arm(Math.max(this.#options.data()?.dueMs ?? Infinity, Date.now() + pauseMs));
    } catch (error) {
      console.error(error);
      await arm(Date.now() + ALARM_RETRY_MS).catch(console.error);
    }
  }

  /**
   * To call after a change: writes its events, collects its garbage, and sets the alarm. `endsQueue`: the last
   * turn in the queue has ended, and its response waits for the alarm instead of the next one's.
   */
  async settle({ endsQueue = false } = {}): Promise<void> {
    const { alarmClock, onSettled, state } = this.#options;
    const data = this.#options.data();
    if (data === undefined) return;
    data.events.flush();
    onSettled();
    // Nobody waits for what is only to be thrown away; what fails is tried again by the alarm.
    if (data.store.hasGarbage()) {
      state.waitUntil(data.store.sweep().catch((error: unknown) => console.error(error)));
    }
    const isOver = endsQueue && data.journal.head()?.isOpen !== true;
    await (isOver ? alarmClock.rearm(data.dueMs) : alarmClock.setBy(data.dueMs));
  }

  /** False if there may be more. */
  #evictDue(): boolean {
    const data = this.#options.data();
    const evicted = data?.store.evictDue(Date.now(), EVICTIONS_PER_ALARM) ?? [];
    return evicted.length < EVICTIONS_PER_ALARM;
  }

  /** Sweeps what is due; returns how long the next pass has to wait, in milliseconds. */
  async #sweepDue(): Promise<number> {
    const { deletion, onSettled } = this.#options;
    const data = this.#options.data();
    if (data === undefined) return 0;
    data.store.flushAccess();
    if (deletion.isIdle && data.isIdle(Date.now())) {
      await deletion.start();
      return 0;
    }
    const isDone = this.#evictDue();
    data.events.prune();
    data.events.flush();
    onSettled();
    if (data.store.hasGarbage()) await data.store.sweep();
    return isDone ? ALARM_PAUSE_MS : 0;
  }
}

/** Evictions in one pass of the alarm; what is left goes in the next, which follows at once. */
const EVICTIONS_PER_ALARM = 500;

/** Between two passes of the alarm, at least. */
const ALARM_PAUSE_MS = 1_000;

/** After a pass that failed. */
const ALARM_RETRY_MS = 60_000;
