import { ByrefError } from "../errors.ts";
import { limits } from "../limits.ts";
import { costSince } from "../turn/cost.ts";
import { pause } from "../turn/model-failure.ts";
import type { Post } from "../turn/post.ts";
import { recoveryDelayMs } from "../turn/recovery.ts";
import type { SpendLimits } from "../turn/spend.ts";
import type { Facilities } from "../turn/toolbox.ts";
import type { TurnResult } from "../turn/turn.ts";
import { TurnLog } from "../turn/turn-log.ts";
import { decidedIn } from "../turn/waiting.ts";
import type { AlarmClock } from "./alarm-clock.ts";
import { answerTurn, recoverAnswer, type TurnRun } from "./answer-turn.ts";
import { type Cast, castOf, type Company, strangerFor } from "./cast.ts";
import type { ConversationData } from "./conversation-data.ts";
import type { Deletion } from "./deletion.ts";
import type { DurableSql } from "./durable-sql.ts";
import { type AskedTurn, postOf, Posts } from "./posts.ts";
import { nothingToRepeat } from "./question.ts";
import type { TurnRequest } from "./requests.ts";
import type { Settings } from "./settings.ts";
import { respond } from "./turn-response.ts";
import { TurnQueue, turnStopped, type TurnSlot } from "./turn-queue.ts";

export interface TurnsOptions {
  readonly company: Company;
  readonly settings: () => Settings;
  readonly sql: DurableSql;
  readonly alarmClock: AlarmClock;
  readonly deletion: Deletion;
  readonly facilities: Facilities;
  readonly spendLimits: SpendLimits;
  /** Undefined until something is written. */
  readonly data: () => ConversationData | undefined;
  /** Makes the tables, and sets the alarm. */
  readonly wake: (dueMs: number) => ConversationData;
  /** Sees to what a turn leaves behind. */
  readonly settle: () => Promise<void>;
}

/** A conversation's turns: asked for over HTTP, or left behind by a crash. */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #queue: TurnQueue;
  readonly #posts = new Posts();
  readonly #stopping = new WeakMap<TurnLog, AbortController>();

  constructor(options: TurnsOptions) {
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

  stop(): boolean {
    return this.#queue.stop();
  }

  /** Stops this turn, and no other, whether it runs or waits. */
  stopTurn(log: TurnLog): void {
    this.#stopping.get(log)?.abort(turnStopped());
  }

  /** Undefined if none runs. */
  get running(): TurnLog | undefined {
    return this.#queue.running;
  }

  watch(after?: number): Response {
    return this.#queue.watch(after);
  }

  async take(request: Request): Promise<Response> {
    // The Worker made this body from what it had validated.
    const asked = await this.begin((await request.json()) as TurnRequest);
    const variables = () => this.#options.data()?.store.list({ last: limits.maxPageSize }) ?? [];
    return respond(request.headers.get("accept"), { ...asked, variables });
  }

  /** The turn that is asked for, or the one that the same post has led to. */
  async begin(turn: TurnRequest): Promise<AskedTurn> {
    const { deletion, data } = this.#options;
    const post = await postOf(turn);
    await deletion.whenDone();
    // One that could not be written to its end, for want of room, comes first.
    this.recover();
    // From here on nothing is waited for: of posts at once the first is the one.
    const known = post === undefined ? undefined : this.#posts.find(post, data());
    return known ?? this.#ask(turn, this.#castFor(turn), post);
  }

  /** Who is to answer. Says at once what can be said: when a stream has begun there is no status any more. */
  #castFor({ approvals, agent, isRepeated, message }: TurnRequest): Cast {
    const { company, settings, data } = this.#options;
    const asksAgain = isRepeated === true && message === undefined;
    // A question needs to read nothing of what was said before it.
    const needsNewest = asksAgain || approvals !== undefined;
    const newest = needsNewest ? data()?.history.newest() : undefined;
    if (asksAgain && newest === undefined) throw nothingToRepeat();
    if (approvals !== undefined && !this.isRunning) decidedIn(newest, approvals);
    // What has waited goes on with the agent that it was asked of, and no other.
    return castOf(company, settings(), approvals === undefined ? agent : newest?.agent);
  }

  #ask(turn: TurnRequest, cast: Cast, post: Post | undefined): AskedTurn {
    const { whenBusy } = cast.agent;
    const isBusy = this.isRunning && turn.approvals === undefined;
    if (isBusy && whenBusy === "reject") throw busy();
    const about = post === undefined ? {} : { post };
    // Whose calls wait is known when the turn before has ended.
    const castNow = () => (turn.approvals === undefined ? cast : this.#castFor(turn));
    const asked = this.#run(castNow, (awake, run) => answerTurn(awake, turn, { ...run, ...about }));
    if (isBusy && whenBusy === "interrupt") this.stop();
    // A question whose call has waited is asked again for as long as that goes on.
    const question =
      turn.approvals === undefined ? undefined : this.#options.data()?.journal.head()?.post;
    for (const one of [post, question]) if (one !== undefined) this.#posts.add(one, asked);
    return asked;
  }

  /** Goes on with the turn that the end of a process has cut off, if there is one. */
  recover(): void {
    const journal = this.#options.data()?.journal;
    const head = journal?.head();
    if (journal === undefined || head?.isOpen !== true || this.isRunning) return;
    const turn = this.#run(
      () => this.#castOf(head.agent),
      async (data, run) => {
        const remains = run.log.recover(journal);
        await pause(recoveryDelayMs(remains, Date.now()), run.signal);
        return recoverAnswer(data, remains, run);
      },
    );
    if (head.post !== undefined) this.#posts.add(head.post, turn);
    turn.result.catch((error: unknown) => console.error(error));
  }

  /**
   * Waits for what runs, as the object's alarm: the platform then keeps the object, and wakes it if its
   * process ends. `tick` is called now and then.
   */
  async watchOver(tick: () => void): Promise<void> {
    this.recover();
    const untilMs = Date.now() + MAX_WATCH_MS;
    while (this.isRunning && Date.now() < untilMs) {
      const done = new AbortController();
      await Promise.race([this.#queue.idle(), pause(TICK_MS, done.signal)]);
      done.abort();
      tick();
    }
  }

  #run(castNow: () => Cast, work: (data: ConversationData, run: TurnRun) => Promise<TurnResult>) {
    // A turn that still waits is stopped too by a deletion: what it was said to is gone.
    const stopping = new AbortController();
    const { log, result } = this.#queue.take(stopping.signal, (slot) =>
      this.#play(slot, castNow, work),
    );
    this.#stopping.set(log, stopping);
    return { log, result: this.#options.deletion.stoppable(stopping, result) };
  }

  async #play(
    slot: TurnSlot,
    castNow: () => Cast,
    work: (data: ConversationData, run: TurnRun) => Promise<TurnResult>,
  ): Promise<TurnResult> {
    const { wake, sql, alarmClock, facilities, spendLimits, settle } = this.#options;
    // Making the tables is the conversation's cost, not the turn's.
    const data = wake(Date.now());
    const before = sql.cost;
    try {
      return await work(data, {
        ...slot,
        castNow,
        facilities,
        spendLimits,
        cost: () => alarmClock.withAlarm(costSince(before, sql.cost)),
        onBegin: () => alarmClock.watch(),
      });
    } finally {
      await settle();
    }
  }

  /** An agent that is not there any more cannot go on; somebody has to say so. */
  #castOf(agent: string): Cast {
    const { company, settings } = this.#options;
    try {
      return castOf(company, settings(), agent);
    } catch (error) {
      return strangerFor(agent, error);
    }
  }
}

function busy(): ByrefError {
  const message = "The conversation is answering another message; post this one when it is done.";
  return new ByrefError("turn_running", message);
}

/** The platform ends an alarm after 15 minutes. */
const MAX_WATCH_MS = 840_000;
const TICK_MS = 20_000;
