import { ByrefError } from "../../errors.ts";
import { limits } from "../../limits.ts";
import { pause } from "../../turn/model/model-failure.ts";
import type { Post } from "../../turn/history/post.ts";
import { recoveryDelayMs } from "../../turn/log/recovery.ts";
import { decidedIn } from "../../turn/waiting.ts";
import { answerTurn, recoverAnswer } from "./answer-turn.ts";
import { type Cast, castOf, castOrStranger, type Company } from "../cast.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { Deletion } from "../deletion.ts";
import type { Lane } from "./lane.ts";
import type { Plans } from "../plans/plans.ts";
import { type AskedTurn, postOf, Posts } from "./posts.ts";
import { nothingToRepeat } from "./question.ts";
import type { TurnRequest } from "../requests.ts";
import type { Settings } from "../settings.ts";
import { respond, wholeTurn } from "./turn-response.ts";

export interface TurnsOptions {
  readonly company: Company;
  readonly settings: () => Settings;
  readonly deletion: Deletion;
  readonly lane: Lane;
  readonly plans: Plans | undefined;
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
  readonly #posts = new Posts();

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
    const known = post === undefined ? undefined : this.#posts.find(post, data());
    return known ?? this.#ask(turn, this.#castFor(turn), { post, traceparent });
  }

  /** Who is to answer. Says at once what can be said: when a stream has begun there is no status any more. */
  #castFor({ approvals, agent, isRepeated, message }: TurnRequest): Cast {
    const { company, settings, data, lane } = this.#options;
    const asksAgain = isRepeated === true && message === undefined;
    // A question needs to read nothing of what was said before it.
    const needsNewest = asksAgain || approvals !== undefined;
    const newest = needsNewest ? data()?.history.newest() : undefined;
    if (asksAgain && newest === undefined) throw nothingToRepeat();
    if (approvals !== undefined && !lane.isRunning) decidedIn(newest, approvals);
    // What has waited goes on with the agent that it was asked of, and no other.
    return castOf(company, settings(), approvals === undefined ? agent : newest?.agent);
  }

  #ask(turn: TurnRequest, cast: Cast, { post, traceparent }: Asked): AskedTurn {
    const { lane, plans } = this.#options;
    const { whenBusy } = cast.agent;
    const isBusy = lane.isRunning && turn.approvals === undefined;
    if (isBusy && whenBusy === "reject") throw busy();
    const about = post === undefined ? { traceparent } : { post, traceparent };
    // Whose calls wait is known when the turn before has ended.
    const castNow = () => (turn.approvals === undefined ? cast : this.#castFor(turn));
    const asked = lane.take(castNow, (awake, run) => answerTurn(awake, turn, { ...run, ...about }));
    // A plan that somebody has let run is not stopped by what is said beside it.
    if (isBusy && whenBusy === "interrupt" && plans?.isRunning !== true) lane.stop();
    // A question whose call has waited is asked again for as long as that goes on.
    const question =
      turn.approvals === undefined ? undefined : this.#options.data()?.journal.head()?.post;
    for (const one of [post, question]) if (one !== undefined) this.#posts.add(one, asked);
    return asked;
  }

  /** Goes on with what the end of a process has cut off, if there is something. */
  recover(): void {
    const { data, lane, plans } = this.#options;
    const journal = data()?.journal;
    const head = journal?.head();
    if (journal === undefined || head?.isOpen !== true || lane.isRunning) return;
    if (head.kind === "run") return plans?.recover(head);
    const turn = lane.take(
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
    const { lane } = this.#options;
    this.recover();
    const untilMs = Date.now() + MAX_WATCH_MS;
    while (lane.isRunning && Date.now() < untilMs) {
      const done = new AbortController();
      await Promise.race([lane.idle(), pause(TICK_MS, done.signal)]);
      done.abort();
      tick();
    }
  }

  #castOf(agent: string): Cast {
    const { company, settings } = this.#options;
    return castOrStranger(company, settings(), agent);
  }
}

function busy(): ByrefError {
  const message = "The conversation is answering another message; post this one when it is done.";
  return new ByrefError("turn_running", message);
}

/** The platform ends an alarm after 15 minutes. */
const MAX_WATCH_MS = 840_000;
const TICK_MS = 20_000;
