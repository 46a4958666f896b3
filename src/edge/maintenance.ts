import { pause } from "../turn/model/model-failure.ts";
import type { ConversationContext } from "./conversation-context.ts";
import { logFailure, placeIn } from "./log-failure.ts";
import type { Turns } from "./turns/turns.ts";

/**
 * The handler of a conversation's alarm: watches running turns, evicts, sweeps, and deletes the idle
 * conversation. It lasts as long as the running turn, so that the platform calls it again if the process dies.
 * Idempotent. Does not throw, because the platform stops retrying a handler that throws repeatedly.
 */
export async function onAlarm(context: ConversationContext, turns: Turns): Promise<void> {
  const { alarmClock, deletion, queue } = context;
  // A turn that began meanwhile, or outlasts the handler's time limit, needs the handler again at once.
  const arm = (dueMs: number) => alarmClock.handlerEnds(queue.isRunning ? Date.now() : dueMs);
  alarmClock.handlerBegins();
  try {
    await deletion.whenDone();
    turns.recover();
    await watchTurns(context);
    const pauseMs = await sweepDue(context);
    // Work that is due already waits for a running turn.
    await arm(Math.max(context.data?.dueMs ?? Infinity, Date.now() + pauseMs));
  } catch (error) {
    const log = (failure: unknown) => void logFailure(failure, placeIn(context, "alarm"));
    log(error);
    await arm(Date.now() + ALARM_RETRY_MS).catch(log);
  }
}

/** Waits for running turns: the platform keeps the object meanwhile, and wakes it if its process ends. */
async function watchTurns(context: ConversationContext): Promise<void> {
  const { queue } = context;
  const untilMs = Date.now() + MAX_WATCH_MS;
  while (queue.isRunning && Date.now() < untilMs) {
    const done = new AbortController();
    await Promise.race([queue.idle(), pause(TICK_MS, done.signal)]);
    done.abort();
    evictDue(context);
  }
}

/** Returns false if more may be due. */
function evictDue({ data }: ConversationContext): boolean {
  const evicted = data?.store.evictDue(Date.now(), EVICTIONS_PER_ALARM) ?? [];
  return evicted.length < EVICTIONS_PER_ALARM;
}

/** Sweeps due data. Returns the minimum pause before the next pass, in milliseconds. */
async function sweepDue(context: ConversationContext): Promise<number> {
  const { data, deletion, index } = context;
  if (data === undefined) return 0;
  data.store.flushAccess();
  if (deletion.isIdle && data.isIdle(Date.now())) {
    await deletion.start();
    return 0;
  }
  const isDone = evictDue(context);
  data.events.prune();
  data.events.flush();
  index.update();
  if (data.store.hasGarbage()) await data.store.sweep();
  return isDone ? ALARM_PAUSE_MS : 0;
}

/** The platform ends an alarm after 15 minutes. */
const MAX_WATCH_MS = 840_000;
const TICK_MS = 20_000;

/** Evictions in one pass of the alarm; the next pass follows at once and evicts the rest. */
const EVICTIONS_PER_ALARM = 500;

/** Minimum pause between two passes of the alarm. */
const ALARM_PAUSE_MS = 1_000;

/** Pause after a pass that failed. */
const ALARM_RETRY_MS = 60_000;
