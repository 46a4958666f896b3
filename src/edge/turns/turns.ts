import { ByrefError } from "../../errors.ts";
import { compact } from "../../value/json.ts";
import type { History } from "../../turn/history/history.ts";
import * as limits from "../../limits.ts";
import { isSameKey, isSameQuestion, type Post } from "../../turn/history/post.ts";
import type { TurnHead } from "../../turn/log/journal.ts";
import { typeOf } from "../../turn/log/recovery.ts";
import {
  type Question,
  recoverTurn,
  resumeTurn,
  runTurn,
  type TurnResult,
} from "../../turn/turn.ts";
import { decidedIn, waitingCalls } from "../../turn/waiting-calls.ts";
import type { Identity } from "../../tool/identity.ts";
import { identityIn, ofTenant } from "../auth/forwarded-identity.ts";
import type { ConversationContext } from "../conversation-context.ts";
import type { ConversationData } from "../conversation-data.ts";
import {
  attempt,
  queueRecovered,
  queueRun,
  recordRemains,
  startEvents,
  type TurnStart,
} from "./attempt.ts";
import type { ChosenAgent } from "./chosen-agent.ts";
import { postOf, type RequestedTurn, shownPost, turnOfPost } from "./posted-turns.ts";
import type { TurnRequest } from "./turn-request.ts";
import { placeIn } from "../log-failure.ts";
import { respond, turnResponse } from "./turn-response.ts";
import { receiveMessage } from "../../turn/history/receive-message.ts";

/** Who sent a request, and its trace. */
interface Asking {
  readonly asker: Identity;
  readonly traceparent: string | null;
}

/** A conversation's turns: requested over HTTP, or recovered after a crash. */
export class Turns {
  readonly #context: ConversationContext;
  /** The posts whose turns run or wait: the same post twice is one turn. */
  readonly #posted = new Set<{ readonly post: Post; readonly turn: RequestedTurn }>();
  #begun: Promise<unknown> = Promise.resolve();

  constructor(context: ConversationContext) {
    this.#context = context;
  }

  /** Responds in the form that the request accepts. */
  async take(turn: TurnRequest, headers: Headers): Promise<Response> {
    this.recover();
    const decided = await this.#context.plans?.decide(turn, headers);
    if (decided !== undefined) return decided;
    const asker = identityIn(headers, this.#context);
    const requested = await this.begin(turn, { asker, traceparent: headers.get("traceparent") });
    const isWritten = turn.approvals?.some(({ input, patch }) => (input ?? patch) !== undefined);
    if (isWritten === true) {
      // Rejects if the input is refused: a response that has begun has no status.
      const { log, result } = requested;
      await Promise.race([log.waitForFrames(limits.keepAliveMs), result]);
      if (typeOf(log.slice(0, 0).at(-1)?.data ?? "") === "error") await result;
    }
    return respond(headers.get("accept"), {
      ...requested,
      toResponse: (result) =>
        turnResponse(result, this.#context.store.list({ last: limits.maxPageSize })),
      place: placeIn(this.#context, "turn"),
    });
  }

  /** Starts the requested turn, or finds the one of an equal post. Turns begin in the order of the calls. */
  begin(turn: TurnRequest, request: Asking): Promise<RequestedTurn> {
    const begun = this.#begun.then(() => this.#begin(turn, request));
    this.#begun = begun.catch(() => undefined);
    return begun;
  }

  async #begin(turn: TurnRequest, request: Asking): Promise<RequestedTurn> {
    const { deletion } = this.#context;
    const post = await postOf(turn);
    await deletion.whenDone();
    this.recover();
    // No await from here on: of equal posts at the same time, the first begins the turn.
    const known = post === undefined ? undefined : this.#find(post);
    return known ?? this.#enqueue(turn, this.#choose(turn, request.asker), { post, ...request });
  }

  /** The turn of an equal post, if there is one. Throws `idempotency_mismatch`. */
  #find(post: Post): RequestedTurn | undefined {
    const { data } = this.#context;
    for (const { post: other, turn } of this.#posted) {
      // Called first because it throws for a different body.
      const isSame = isSameKey(post, other);
      if (isSame || isSameQuestion(post, other)) return { ...turn, first: 0 };
    }
    return data && turnOfPost(post, data);
  }

  /** Keeps the turn until it ends. */
  #remember(post: Post | undefined, turn: RequestedTurn): void {
    if (post === undefined) return;
    const running = { post, turn };
    this.#posted.add(running);
    const forget = () => void this.#posted.delete(running);
    turn.result.then(forget, forget);
  }

  /** Chooses the agent. Throws known errors now, because a stream that has begun has no status. */
  #choose(turn: TurnRequest, asker: Identity): ChosenAgent {
    const { approvals, agent, isRepeated, message, conversation = "" } = turn;
    const { data, queue } = this.#context;
    const answersStoredQuestion = isRepeated === true && message === undefined;
    // A question does not need the earlier messages.
    const needsNewest = answersStoredQuestion || approvals !== undefined;
    const newest = needsNewest ? data?.history.newest() : undefined;
    if (answersStoredQuestion && newest === undefined) throw nothingToRepeat();
    if (isRepeated === true && data !== undefined) requireLastTurn(turn, data.history);
    if (approvals !== undefined && !queue.isRunning) decidedIn(data?.history, approvals);
    // A turn that waited continues with its own agent, for the one who asked.
    const head = approvals && data?.journal.head();
    const waited = [head, head?.paused].find((one) => one && one.id === newest?.id);
    const owner = waited && ofTenant(waited.asker ?? { tenant: asker.tenant }, this.#context);
    return this.#context.chooseAgent({
      name: approvals === undefined ? agent : newest?.agent,
      asked: this.#context.askedBy(owner ?? asker, conversation),
    });
  }

  #enqueue(
    turn: TurnRequest,
    chosen: ChosenAgent,
    { post, traceparent, asker }: Asking & { readonly post: Post | undefined },
  ): RequestedTurn {
    const { queue, plans } = this.#context;
    const { whenBusy } = chosen.agent;
    const isBusy = queue.isRunning && turn.approvals === undefined;
    if (isBusy && whenBusy === "reject") {
      const message = "The conversation is answering another message.";
      throw new ByrefError("conflict", message);
    }
    // The waiting calls are known when the previous turn has ended.
    const chooseNow = () => (turn.approvals === undefined ? chosen : this.#choose(turn, asker));
    const about = { chooseNow, traceparent, asker, ...(post && { post }) };
    const requested = this.#context.enqueue((slot) =>
      answerTurn(this.#context, turn, { ...slot, ...about }),
    );
    // A message does not stop a run that a person approved.
    if (isBusy && whenBusy === "interrupt" && plans?.isRunning !== true) queue.stop();
    // While the approved calls run, their question counts as posted.
    this.#remember(turn.approvals && this.#context.data?.journal.head()?.post, requested);
    this.#remember(post, requested);
    return requested;
  }

  /**
   * Call this when the object wakes. Settles the newest turn's lease again: the last process may have ended
   * before.
   */
  onWake(): void {
    const { data, leases } = this.#context;
    const { lease } = data?.journal.head() ?? {};
    if (lease !== undefined) leases?.settle(lease);
    this.recover();
  }

  /** Continues a turn or run that a crash, or full storage, has interrupted. Call it before another begins. */
  recover(): void {
    const { data, queue, plans } = this.#context;
    const head = data?.journal.head();
    if (data === undefined || head?.isOpen !== true || queue.isRunning) return;
    if (head.kind === "run") {
      if (plans === undefined) closeRun(this.#context, head);
      else plans.recover(head);
      return;
    }
    const turn = queueRecovered(this.#context, head, (start, recoveredLog) => {
      const { events } = start.data;
      recordRemains(events, head, start.log.slice(0, 0));
      events.add({ type: "turn.recovered", turn: head.id });
      return attempt(this.#context, { ...start, calls: recoveredLog.calls }, (options) => {
        this.#context.onTurnBegin();
        return recoverTurn(options, recoveredLog);
      });
    });
    this.#remember(head.post, turn);
  }
}

/** Runs a turn: writes its chunks to the log and adds its events, which the caller writes. */
function answerTurn(
  context: ConversationContext,
  turn: TurnRequest,
  { asker, ...start }: TurnStart & { readonly asker: Identity },
): Promise<TurnResult> {
  const { store, history, events, postKeys } = start.data;
  const { conversation = "" } = turn;
  const by = compact({ principal: asker.principal });
  const approvals = turn.approvals?.map((approval) => ({ ...approval, ...by })) ?? [];
  const begin = (id: string, asked: Identity | undefined, decided = approvals) => {
    for (const event of startEvents({ id, ...compact({ approvals: decided, asker: asked }) })) {
      events.add(event);
    }
    context.onTurnBegin(id);
    if (start.post !== undefined) postKeys.add(start.post, id, Date.now());
  };
  if (approvals.length > 0) {
    const newest = history.newest();
    const id = newest?.id ?? "";
    const calls = waitingCalls(newest).values();
    return attempt(context, { ...start, conversation, turn: id, calls }, (options) =>
      resumeTurn(options, approvals, (decided) => begin(id, options.asker, [...decided])),
    );
  }
  const id = crypto.randomUUID();
  return attempt(context, { ...start, conversation, turn: id }, async (options) => {
    const question = await questionOf(turn, start.data, start.post, options.agent.messageChars);
    if (turn.input !== undefined) await store.save({ name: "input", value: turn.input });
    begin(id, options.asker);
    const post = await shownPost(options.post, question.message);
    return runTurn({ ...options, ...compact({ post }) }, { ...question, id });
  });
}

/** Ends a run if the application no longer has plans. Its record is closed when there are plans again. */
function closeRun(context: ConversationContext, head: TurnHead): void {
  const message = "This Worker cannot continue a run: it has no planSupport().";
  const code = "bad_configuration";
  queueRun(context, { recovers: head }, async (closing, { events }) => {
    closing.start("interrupted", () => undefined);
    closing.end(() => {
      closing.context.emit({ type: "error", errorText: `${code}: ${message}` });
      return { end: { status: "failed", code }, result: undefined };
    });
    events.add({ type: "run.failed", run: head.id, code });
  });
}

/**
 * The turn's question. It has no message if a stored question is answered again. Saves the message's files
 * and long texts as variables, and does not change the history. Throws `bad_request`.
 */
async function questionOf(
  turn: TurnRequest,
  { history, store, journal }: Pick<ConversationData, "history" | "store" | "journal">,
  post: Post | undefined,
  messageChars: number | undefined,
): Promise<Question> {
  const { isRepeated, message, messageId } = turn;
  const isThere = messageId !== undefined && history.has(messageId);
  if (isRepeated === true && (isThere || message === undefined)) {
    if (!history.hasQuestion(messageId)) throw nothingToRepeat();
    requireLastTurn(turn, history);
    return { repeats: messageId ?? history.newest()?.id };
  }
  if (message === undefined) throw nothingToRepeat();
  // The same message was posted again after its turn failed or was stopped: it gets another answer.
  const last = journal.head();
  const hasFailed = last?.ended !== undefined && last.post !== undefined;
  if (hasFailed && post !== undefined && isSameQuestion(post, last.post)) {
    return { replace: () => history.removeAnswers(undefined) };
  }
  const { conversation = "" } = turn;
  const received = await receiveMessage(message.parts, { store, conversation, messageChars });
  const question = {
    message: {
      id: message.id ?? crypto.randomUUID(),
      role: "user" as const,
      ...received,
      ...compact({ metadata: message.metadata }),
      createdAt: new Date().toISOString(),
    },
  };
  const isEdit = isThere && isRepeated !== true;
  return isEdit ? { ...question, replace: () => history.removeFrom(messageId) } : question;
}

/** Throws `conflict` if turns that the client may not know would be removed. */
function requireLastTurn({ messageId, named }: TurnRequest, history: History): void {
  const isKnown = messageId !== undefined && history.has(messageId);
  if (!isKnown || history.isOfLastTurn(messageId)) return;
  if (named !== undefined && history.has(named)) return;
  const message =
    "Newer messages would be removed. Load the conversation again, or name the message to answer again as messageId.";
  throw new ByrefError("conflict", message);
}

function nothingToRepeat(): ByrefError {
  return new ByrefError("bad_request", "There is no message to answer again.");
}
