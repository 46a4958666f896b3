import type { FinishReason, UIMessage } from "ai";
import { ByrefError, type PublicError, publicErrorOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { Account } from "./spend/account.ts";
import type { Cost } from "./spend/cost.ts";
import { type StoredMessage, toUIMessage } from "./history/history.ts";
import type { TurnHead } from "./log/journal.ts";
import { leaseOf, spendFor } from "./spend/lease.ts";
import type { Post } from "./history/post.ts";
import type { Savings } from "./spend/savings.ts";
import { spentBefore } from "./spend/spend.ts";
import { nextAttempt, whyGivenUp } from "./log/recovery.ts";
import { Steps } from "./steps.ts";
import { askerFor } from "./sub-turn.ts";
import { type ApprovalResponse, decidedIn } from "./waiting-calls.ts";
import type { Remains } from "./log/log-lines.ts";
import type { TurnEnd, TurnOptions } from "./turn-options.ts";
import { TurnState } from "./log/turn-state.ts";
import type { Usage } from "./spend/usage.ts";
import { tellChanges } from "./tell-changes.ts";

/** What is asked, and what it stands in for. */
export interface Question {
  /** Of the answer's message. Default: a new one. */
  readonly id?: string;
  /** Absent if one that is in the history is answered again. */
  readonly message?: StoredMessage;
  /** Removes from the history what the answer stands in for. */
  readonly replace?: () => void;
}

/** What the last `message-metadata` of a turn carries. */
export interface TurnMetadata {
  readonly usage: Usage;
  readonly savings: Savings;
  readonly cost: Cost;
}

export interface TurnResult {
  readonly metadata: TurnMetadata;
  /** The answer as the person saw it. */
  readonly message: UIMessage;
  readonly finishReason: FinishReason;
  readonly error?: PublicError;
}

/**
 * One user message, the model's steps and tool calls, one answer. The question is in the history before
 * the model is called; the answer is there before `finish` is sent. A failure is an error part, and the
 * turn's `error`; it rejects only if the storage fails before it has begun.
 */
export async function runTurn(
  options: TurnOptions,
  { id, message, replace }: Question = {},
): Promise<TurnResult> {
  const { agent, conversation, history, journal, log, newId, post, trace } = options;
  const last = journal.head();
  const { attempt = 0 } = last ?? {};
  const head: TurnHead = {
    id: id ?? newId(),
    attempt: attempt + 1,
    isOpen: true,
    agent: agent.name,
    conversation,
    spent: spentBefore(last),
    ...(post === undefined ? {} : { post }),
    ...(trace === undefined ? {} : { trace }),
  };
  let turn: Turn | undefined;
  const begin = () => {
    replace?.();
    // What waited for a person waits no more.
    const waited = last?.paused ?? last;
    if (waited?.needs !== undefined) options.store.holds.release(waited.id);
    if (message !== undefined) history.add(message);
    turn = new Turn(options, head);
    turn.start();
    turn.startStep();
  };
  undoable(options, () => log.begin(journal, head, begin));
  return required(turn).run();
}

/**
 * Goes on with the newest message where its calls have waited for a person; rejects with
 * `approval_not_found` if none of them does. If some still wait, the model is not called yet.
 */
export async function resumeTurn(
  options: TurnOptions,
  approvals: readonly ApprovalResponse[],
): Promise<TurnResult> {
  const { agent, conversation, history, journal, log, post, trace } = options;
  const message = history.newest();
  const decided = decidedIn(message, approvals);
  const last = journal.head();
  const { attempt = 0 } = last ?? {};
  const id = message?.id ?? "";
  const isKept = last?.id === id;
  const waited = isKept ? last : last?.paused?.id === id ? last.paused : undefined;
  const head: TurnHead = {
    id,
    attempt: attempt + 1,
    isOpen: true,
    agent: agent.name,
    conversation,
    approvals: decided.map(({ approval }) => approval),
    spent: isKept ? last.spent : spentBefore(last),
    // Other calls of it may still wait when this attempt ends.
    ...(waited?.needs === undefined ? {} : { needs: waited.needs }),
    ...(waited?.counts === undefined ? {} : { counts: waited.counts }),
    ...postOf(waited?.post, post),
    ...(trace === undefined ? {} : { trace }),
  };
  const turn = new Turn(options, head, { resumed: message });
  const start = () => turn.start();
  undoable(options, () =>
    isKept ? log.resume(journal, head, start) : log.begin(journal, head, start),
  );
  return turn.run((steps) => steps.decide(decided));
}

/**
 * Goes on with a turn that a crash cut off, from what `log` has recovered of it: the newest step is begun
 * anew if the model had not finished it, else its tools are. Rejects only if the storage fails.
 */
export async function recoverTurn(options: TurnOptions, remains: Remains): Promise<TurnResult> {
  const { history, journal, log } = options;
  const last = journal.head();
  if (last === undefined) throw new ByrefError("internal", "There is no turn to go on with.");
  const head = nextAttempt(last);
  const { approvals } = head;
  const newest = approvals === undefined ? undefined : history.newest();
  const message = newest?.id === head.id ? newest : undefined;
  const turn = new Turn(options, head, { resumed: message, isRetry: true });
  const isOpenStep = turn.restore(remains);
  log.retry(journal, head, () => {
    if (isOpenStep) turn.resetStep();
  });
  const hopeless = whyGivenUp(remains);
  if (hopeless !== undefined) return turn.giveUp(hopeless);
  if (isOpenStep) return turn.run();
  if (approvals !== undefined && remains.entries.length === 0) {
    return turn.run((steps) => steps.decide(decidedIn(message, approvals)));
  }
  return turn.run((steps) => steps.goOn(remains.calls));
}

/** Where there is no room for all of it nothing is kept, and nothing of it is remembered. */
function undoable({ history, store }: TurnOptions, commit: () => void): void {
  try {
    commit();
  } catch (error) {
    history.forget();
    store.forget();
    throw error;
  }
}

/** What has led to a turn that goes on: the question, and how it goes on. */
function postOf(asked: Post | undefined, decided: Post | undefined): Pick<TurnHead, "post"> {
  const post = decided ?? asked;
  if (post === undefined) return {};
  const { messageId, partsDigest } = asked ?? post;
  return { post: { ...post, ...(messageId === undefined ? {} : { messageId, partsDigest }) } };
}

/** Where an attempt comes from, if it does not begin a turn. */
interface Origin {
  /** The message that has waited for a person. */
  readonly resumed?: StoredMessage | undefined;
  readonly isRetry?: boolean;
}

/** One attempt at a turn. */
class Turn {
  readonly #options: TurnOptions;
  readonly #head: TurnHead;
  readonly #state: TurnState;
  readonly #steps: Steps;
  readonly #isResumed: boolean;
  readonly #timeout = new AbortController();

  constructor(options: TurnOptions, head: TurnHead, { resumed, isRetry = false }: Origin = {}) {
    const { agent, store, history, log, emit, signal } = options;
    this.#options = options;
    this.#head = head;
    this.#isResumed = resumed !== undefined;
    const window = history.window(head.id);
    const account = new Account(store, spendFor(options, head));
    this.#state = new TurnState({
      id: head.id,
      agent: agent.name,
      store,
      resumed,
      // The message that goes on may be too long for the window, and is in the prompt all the same.
      isTainted: [resumed, ...window].some((message) => message?.tainted === true),
      account,
      ...(head.counts === undefined ? {} : { counts: head.counts }),
    });
    this.#steps = new Steps({
      ...options,
      signal: AbortSignal.any([signal, this.#timeout.signal]),
      state: this.#state,
      key: `${options.keyPrefix}/${head.id}`,
      window,
      toolbox: { ask: askerFor({ ...options, account }) },
      // Its frames are another attempt's; its texts are too.
      idSuffix: isRetry ? `~${head.attempt}` : "",
      emit: (chunk) => {
        log.push(chunk);
        emit?.(chunk);
      },
    });
  }

  start(): void {
    this.#steps.emit({ type: "start", messageId: this.#head.id });
  }

  startStep(): void {
    this.#steps.startStep();
  }

  resetStep(): void {
    this.#steps.resetStep();
  }

  /** True if the model had not finished the newest step. */
  restore(remains: Remains): boolean {
    const { entries, steps } = remains;
    this.#state.restore(entries);
    const isOpen = steps > entries.filter(({ step }) => step !== undefined).length;
    this.#steps.restore(remains, isOpen);
    return isOpen;
  }

  /** `first` is done before the model is called; what it returns, if anything, ends the turn. */
  async run(first?: (steps: Steps) => Promise<FinishReason | undefined>): Promise<TurnResult> {
    const { store, signal } = this.#options;
    const stopObserving = tellChanges(store, this.#steps.emit);
    const timer = setTimeout(() => this.#timeout.abort(tooLong()), limits.turnMs);
    let finishReason: FinishReason = "error";
    let error: TurnResult["error"];
    try {
      await this.#steps.open();
      finishReason = (await first?.(this.#steps)) ?? (await this.#steps.run());
    } catch (thrown) {
      if (signal.aborted) finishReason = "other";
      else error = publicErrorOf(thrown);
    } finally {
      clearTimeout(timer);
      stopObserving();
    }
    await this.#steps.flush();
    return this.#end(finishReason, error);
  }

  /** After so many attempts that came to nothing. */
  async giveUp(message: string): Promise<TurnResult> {
    return this.#end("error", { code: "turn_failed", message });
  }

  /** The answer goes into the history, and the turn is closed, in one commit. */
  #end(finishReason: FinishReason, error: TurnResult["error"]): TurnResult {
    const { history, signal, now, log } = this.#options;
    const { emit } = this.#steps;
    let ended: Pick<TurnResult, "metadata" | "message"> | undefined;
    const end = () => {
      if (signal.aborted || error !== undefined) this.#steps.closeCalls();
      const stored = this.#state.message(this.#state.parts.ended(), now());
      const metadata = this.#metadata(stored);
      const failure = {
        ...(error === undefined ? {} : { error: error.code, ...error.details }),
        ...(signal.aborted ? { stopped: true } : {}),
      };
      const message = {
        ...stored,
        metadata: { ...metadata, ...failure },
        ...(finishReason === "stop" ? {} : { finishReason }),
      };
      if (this.#isResumed) history.replaceNewest(message);
      else history.add(message);
      emit({ type: "message-metadata", messageMetadata: { ...metadata, ...failure } });
      if (signal.aborted) emit({ type: "abort" });
      else if (error !== undefined)
        emit({ type: "error", errorText: `${error.code}: ${error.message}` });
      else emit({ type: "finish", finishReason });
      ended = { metadata, message: toUIMessage(message, "display") };
      return this.#endedHead(error);
    };
    undoable(this.#options, () => log.end(end));
    if (!this.#state.hasWaiting) this.#options.store.holds.release(this.#head.id);
    this.#state.account.spend.settle();
    const { metadata, message } = required(ended);
    const code = error === undefined ? {} : { code: error.code };
    this.#options.onEnd?.({ status: this.#status(error), ...code, finishReason, ...metadata });
    return { metadata, message, finishReason, ...(error === undefined ? {} : { error }) };
  }

  #endedHead(error: TurnResult["error"]): TurnHead {
    const { approvals: _, needs: _needs, counts: _counts, ...head } = this.#head;
    const { store } = this.#options;
    const { hasWaiting, counts, account } = this.#state;
    const waits = { needs: store.holds.names(head.id), counts, spent: head.spent };
    const status = this.#status(error);
    return {
      ...head,
      ...leaseOf(this.#options, head, account.spend.turn),
      isOpen: false,
      ...(status === "failed" || status === "stopped" ? { ended: status } : {}),
      ...(hasWaiting ? waits : { spent: account.spend.total }),
    };
  }

  #status(error: TurnResult["error"]): TurnEnd["status"] {
    if (this.#options.signal.aborted) return "stopped";
    if (error !== undefined) return "failed";
    return this.#state.hasWaiting ? "waiting" : "done";
  }

  /** The rows in which the end is kept count in. */
  #metadata(kept: StoredMessage): TurnMetadata {
    const { rowsRead, rowsWritten, alarms } = this.#options.cost();
    const { history, log } = this.#options;
    const messageRows = history.rowsFor(kept) + (this.#isResumed ? 1 : 0);
    const { usage, savings } = this.#state.account;
    return {
      usage,
      savings: savings.savings,
      cost: { rowsRead, rowsWritten: rowsWritten + messageRows + log.rowsToEnd(), alarms },
    };
  }
}

/** What a commit has made; it does so before it returns. */
function required<Made>(made: Made | undefined): Made {
  if (made === undefined) throw new ByrefError("internal", "The turn was not written down.");
  return made;
}

function tooLong(): ByrefError {
  return new ByrefError("turn_timeout", `The turn did not finish within ${limits.turnMs} ms.`);
}
