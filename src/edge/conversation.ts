import { DurableObject } from "cloudflare:workers";
import { hasSchema } from "../store/rows/migrations.ts";
import type { UserValue } from "../store/user-variables.ts";
import type { UserWrite } from "../store/variable-store.ts";
import { pause } from "../turn/model/model-failure.ts";
import { ConversationContext, type ConversationSetup } from "./conversation-context.ts";
import type { ConversationStatus } from "./conversation-of.ts";
import { type ConversationParts, statusOf } from "./conversation-parts.ts";
import type { routesOf } from "./api.ts";
import { problem } from "./http/problem.ts";
import { logFailure, placeIn } from "./log-failure.ts";
import { Sockets } from "./sockets/sockets.ts";
import { Turns } from "./turns/turns.ts";
import { userValuesIn } from "./user-object.ts";

export interface ConversationOptions extends ConversationSetup {
  readonly routes: Pick<ReturnType<typeof routesOf<ConversationParts>>, "fetch">;
}

/**
 * One conversation: its messages, variables, turns and alarm. Its name contains tenant and id
 * (`conversation-of.ts`), so code in it cannot reach another conversation's data.
 */
export class ConversationObject extends DurableObject {
  /** Public for tests. */
  readonly parts: ConversationParts;
  readonly #routes: ConversationOptions["routes"];

  constructor(state: DurableObjectState, env: Cloudflare.Env, options: ConversationOptions) {
    super(state, env);
    const context = new ConversationContext(state, env, options);
    const turns = new Turns(context);
    this.parts = { context, turns, sockets: new Sockets(context, turns) };
    this.#routes = options.routes;
    if (hasSchema(context.sql)) void state.blockConcurrencyWhile(() => this.#onWake());
  }

  /** Called when the conversation exists already: a request or the alarm has woken the object. */
  async #onWake(): Promise<void> {
    const { context, turns } = this.parts;
    await context.alarmClock.read();
    if (context.deletion.readMark()) return;
    // No alarm is set, or its handler runs and none is visible: run the handler, which sets the next one.
    context.wake(Date.now());
    turns.onWake();
  }

  /** Handles a request that the Worker has authenticated and forwarded. */
  override async fetch(request: Request): Promise<Response> {
    this.parts.context.asked.abort();
    try {
      // Writes wait while the conversation is deleted or imported. Most reads find nothing at once. A DELETE joins a
      // deletion that is under way.
      if (!/^(?:GET|HEAD|DELETE)$/u.test(request.method))
        await this.parts.context.deletion.whenDone();
      return await this.#routes.fetch(request, this.parts);
    } catch (error) {
      return problem(error, placeIn(this.parts.context, request.method));
    }
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    this.parts.context.asked.abort();
    this.parts.sockets.receive(socket, message);
  }

  override webSocketClose(socket: WebSocket): void {
    this.parts.sockets.close(socket);
  }

  override webSocketError(socket: WebSocket): void {
    this.parts.sockets.close(socket);
  }

  override alarm(): Promise<void> {
    return onAlarm(this.parts);
  }

  /** Deletes a conversation that began by then, if there is one, for the deletion of its tenant. */
  async deleteBefore(timeMs: number): Promise<void> {
    const { context } = this.parts;
    // An import or a deletion may be under way.
    await context.deletion.whenDone();
    if (context.data !== undefined && context.data.bornMs <= timeMs) await context.deletion.start();
  }

  /** The values of the user whose object this is, after a write. */
  async userValues(write?: UserWrite): Promise<readonly UserValue[]> {
    const { context } = this.parts;
    await context.deletion.whenDone();
    return userValuesIn(context, write);
  }

  /** Undefined for a conversation that does not exist. */
  status(): ConversationStatus | undefined {
    this.parts.context.asked.abort();
    return statusOf(this.parts);
  }
}

/**
 * The handler of a conversation's alarm: watches running turns, evicts, sweeps, and deletes the idle
 * conversation. It lasts as long as the running turn, so that the platform calls it again if the process dies.
 * Idempotent. Does not throw, because the platform stops retrying a handler that throws repeatedly.
 */
async function onAlarm({ context, turns }: ConversationParts): Promise<void> {
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
async function watchTurns({ queue, data }: ConversationContext): Promise<void> {
  const untilMs = Date.now() + MAX_WATCH_MS;
  while (queue.isRunning && Date.now() < untilMs) {
    const done = new AbortController();
    await Promise.race([queue.idle(), pause(TICK_MS, done.signal)]);
    done.abort();
    data?.store.evictDue(Date.now(), EVICTIONS_PER_ALARM);
  }
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
  const evicted = data.store.evictDue(Date.now(), EVICTIONS_PER_ALARM);
  data.events.prune();
  data.events.flush();
  index.update();
  if (data.store.hasGarbage()) await data.store.sweep();
  return evicted.length < EVICTIONS_PER_ALARM ? ALARM_PAUSE_MS : 0;
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
