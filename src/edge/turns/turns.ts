import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { pause } from "../../turn/model/model-failure.ts";
import type { Post } from "../../turn/history/post.ts";
import type { TurnHead } from "../../turn/log/journal.ts";
import { leaseOf } from "../../turn/spend/lease.ts";
import type { LeaseOffice } from "../../turn/spend/lease-office.ts";
import { NOTHING_SPENT } from "../../turn/spend/spend.ts";
import { nextAttempt, recoveryDelayMs } from "../../turn/log/recovery.ts";
import { decidedIn } from "../../turn/waiting-calls.ts";
import { answerTurn, recoverAnswer } from "./answer-turn.ts";
import {
  type ChosenAgent,
  chooseAgent,
  chooseAgentOrStandIn,
  type AgentSetup,
} from "./chosen-agent.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { Deletion } from "../deletion.ts";
import type { TurnQueue } from "./turn-queue.ts";
import type { Plans } from "../plans/plans.ts";
import { type AskedTurn, postOf, PostedTurns } from "./posted-turns.ts";
import { nothingToRepeat } from "./question.ts";
import type { TurnRequest } from "./turn-request.ts";
import type { Settings } from "../settings.ts";
import { respond, wholeTurn } from "./turn-response.ts";

export interface TurnsOptions {
  readonly agentSetup: AgentSetup;
  readonly settings: () => Settings;
  readonly deletion: Deletion;
  readonly queue: TurnQueue;
  readonly plans: Plans | undefined;
  readonly leases: LeaseOffice | undefined;
  /** Undefined until something is written. */
  readonly data: () => ConversationData | undefined;
}

/** What is known of the request that asks. */
interface Asked {
  readonly post: Post | undefined;
  readonly traceparent: string | null;
}

/** A conversation's turns: asked for over HTTP, or left behind by a crash. */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #posted = new PostedTurns();

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  async take(request: Request): Promise<Response> {
    // The Worker made this body from what it had validated.
    const turn = (await request.json()) as TurnRequest;
    const accept = request.headers.get("accept");
    const decided = await this.#options.plans?.decide(turn, request.headers);
    if (decided !== undefined) return decided;
    const asked = await this.begin(turn, request.headers.get("traceparent"));
    const variables = () => this.#options.data()?.store.list({ last: limits.maxPageSize }) ?? [];
    return respond(accept, { ...asked, whole: (result) => wholeTurn(result, variables()) });
  }

  /** The turn that is asked for, or the one that the same post has led to. */
  async begin(turn: TurnRequest, traceparent: string | null = null): Promise<AskedTurn> {
    const { deletion, data } = this.#options;
    const post = await postOf(turn);
    await deletion.whenDone();
    // One that could not be written to its end, for want of room, comes first.
    this.recover();
    // From here on nothing is waited for: of posts at once the first is the one.
    const known = post === undefined ? undefined : this.#posted.find(post, data());
    return known ?? this.#ask(turn, this.#choose(turn), { post, traceparent });
  }

  /** Who is to answer. Says at once what can be said: when a stream has begun there is no status any more. */
  #choose({ approvals, agent, isRepeated, message }: TurnRequest): ChosenAgent {
    const { agentSetup, settings, data, queue } = this.#options;
    const asksAgain = isRepeated === true && message === undefined;
    // A question needs to read nothing of what was said before it.
    const needsNewest = asksAgain || approvals !== undefined;
    const newest = needsNewest ? data()?.history.newest() : undefined;
    if (asksAgain && newest === undefined) throw nothingToRepeat();
    if (approvals !== undefined && !queue.isRunning) decidedIn(newest, approvals);
    // What has waited goes on with the agent that it was asked of, and no other.
    return chooseAgent(agentSetup, settings(), approvals === undefined ? agent : newest?.agent);
  }

  #ask(turn: TurnRequest, chosen: ChosenAgent, { post, traceparent }: Asked): AskedTurn {
    const { queue, plans } = this.#options;
    const { whenBusy } = chosen.agent;
    const isBusy = queue.isRunning && turn.approvals === undefined;
    if (isBusy && whenBusy === "reject") throw busy();
    // Whose calls wait is known when the turn before has ended.
    const chooseNow = () => (turn.approvals === undefined ? chosen : this.#choose(turn));
    const about = { chooseNow, traceparent, ...(post === undefined ? {} : { post }) };
    const asked = queue.take((awake, context) => answerTurn(awake, turn, { ...context, ...about }));
    // A plan that somebody has let run is not stopped by what is said beside it.
    if (isBusy && whenBusy === "interrupt" && plans?.isRunning !== true) queue.stop();
    // A question whose call has waited is asked again for as long as that goes on.
    const question =
      turn.approvals === undefined ? undefined : this.#options.data()?.journal.head()?.post;
    for (const one of [post, question]) if (one !== undefined) this.#posted.add(one, asked);
    return asked;
  }

  /** To call when a process begins. Settles the newest turn again, because the last process may not have. */
  goOn(): void {
    const { data, leases } = this.#options;
    const { lease } = data()?.journal.head() ?? {};
    if (lease !== undefined) leases?.settle(lease);
    this.recover();
  }

  /** Goes on with what the end of a process has cut off, if there is something. */
  recover(): void {
    const { agentSetup, settings, data, queue, plans } = this.#options;
    const journal = data()?.journal;
    const head = journal?.head();
    if (journal === undefined || head?.isOpen !== true || queue.isRunning) return;
    if (head.kind === "run") {
      if (plans === undefined) closeRun(queue, head);
      else plans.recover(head);
      return;
    }
    const chooseNow = () => chooseAgentOrStandIn(agentSetup, settings, head.agent);
    const turn = queue.take(async (data, context) => {
      const remains = context.log.recover(journal);
      await pause(recoveryDelayMs(remains, Date.now()), context.signal);
      return recoverAnswer(data, remains, { ...context, chooseNow });
    });
    if (head.post !== undefined) this.#posted.add(head.post, turn);
    turn.result.catch((error: unknown) => console.error(error));
  }

  /**
   * Waits for what runs, as the object's alarm: the platform then keeps the object, and wakes it if its
   * process ends. `tick` is called now and then.
   */
  async watchOver(tick: () => void): Promise<void> {
    const { queue } = this.#options;
    this.recover();
    const untilMs = Date.now() + MAX_WATCH_MS;
    while (queue.isRunning && Date.now() < untilMs) {
      const done = new AbortController();
      await Promise.race([queue.idle(), pause(TICK_MS, done.signal)]);
      done.abort();
      tick();
    }
  }
}

/** The application has no plans any more: the run ends here. Its record is closed when there are plans again. */
function closeRun(queue: TurnQueue, head: TurnHead): void {
  const { code, message } = noPlans();
  const closing = queue.take(async ({ journal, events }, { log, leases }) => {
    const { spent } = log.recover(journal).entries.at(-1)?.state ?? { spent: NOTHING_SPENT };
    const { lease } = leaseOf({ leases }, head, spent);
    const ended = { ...nextAttempt(head), isOpen: false, ended: "failed" } as const;
    log.retry(journal, lease === undefined ? ended : { ...ended, lease }, () =>
      log.push({ type: "error", errorText: `${code}: ${message}` }),
    );
    if (lease !== undefined) leases?.settle(lease);
    events.add({ type: "run.failed", run: head.id, code });
  });
  closing.result.catch((error: unknown) => console.error(error));
}

function noPlans(): ByrefError {
  const message = "The run cannot continue: this Worker has no plans. Pass plans: planSupport().";
  return new ByrefError("bad_configuration", message);
}

function busy(): ByrefError {
  const message = "The conversation is answering another message; post this one when it is done.";
  return new ByrefError("turn_running", message);
}

/** The platform ends an alarm after 15 minutes. */
const MAX_WATCH_MS = 840_000;
const TICK_MS = 20_000;
