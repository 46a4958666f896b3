import * as limits from "../limits.ts";
import type { FinishReason, UIMessage, UIMessageChunk } from "ai";
import { limitOf, type PublicError, publicErrorOf, ByrefError } from "../errors.ts";
import { pickSyntaxes } from "../reference/syntaxes.ts";
import { USER } from "../store/user-variables.ts";
import { compact, isJsonObject, isScalar, type Json } from "../value/json.ts";
import { referencesOf } from "./agent.ts";
import { type StoredMessage, toUIMessage } from "./history/stored-message.ts";
import type { Post } from "./history/post.ts";
import { MAX_ATTEMPTS } from "./history/timeline.ts";
import type { TurnHead } from "./log/journal.ts";
import { type RecoveredLog, giveUpReason, nextAttempt } from "./log/recovery.ts";
import type { StartedTurn } from "./log/turn-log.ts";
import { TurnState } from "./log/turn-state.ts";
import { Account } from "./spend/account.ts";
import { isTaintedPrompt } from "./prompts.ts";
import { Steps } from "./steps.ts";
import { type ModelAnswer, withOwnTools } from "./delegate-tool.ts";
import { askAgent, type ModelQuestion, toolboxFor } from "./sub-turn.ts";
import type { TurnEnd, TurnOptions, TurnContext } from "./turn-context.ts";
import {
  type ApprovalResponse,
  decidedIn,
  type DecidedCall,
  withoutWaiting,
} from "./waiting-calls.ts";
import type { Change } from "../store/variable.ts";
import { leaseKeyOf, NOTHING_SPENT, spentBefore } from "./spend/spend.ts";

export interface Question {
  /** The id of the answer's message. Default: a new id. */
  readonly id?: string;
  /** Absent if a question in the history is answered again. */
  readonly message?: StoredMessage;
  /** Removes the messages that the question replaces from the history. */
  readonly replace?: () => void;
  /** The message to answer again: a question in the history, or one of its answers. */
  readonly repeats?: string | undefined;
}

/** The content of a turn's last `message-metadata` chunk. */
export interface TurnMetadata extends Pick<TurnEnd, "usage" | "savings" | "cost"> {
  /** Why the model stopped before its answer was complete. Absent if it is. */
  readonly finishReason?: FinishReason;
}

export interface TurnResult {
  readonly metadata: TurnMetadata;
  /** The answer as the person saw it. */
  readonly message: UIMessage;
  readonly finishReason: FinishReason;
  readonly error?: PublicError;
}

/**
 * Runs one turn: one user message, the model's steps and tool calls, one answer. The question is in the
 * history before the model is called, and the answer before `finish` is sent. A failure becomes an error
 * chunk and the result's `error`. Rejects only if the storage fails before the turn has begun.
 */
export async function runTurn(
  options: TurnOptions,
  { id = options.newId(), message, replace, repeats }: Question = {},
): Promise<TurnResult> {
  const { agent, history, journal, store, post, now } = options;
  const last = journal.head();
  const attempt = new Attempt(options, compact({ ...headFor(options, id), post, repeats }));
  const turn = attempt.start("new", () => {
    replace?.();
    // A turn that waited for a person can no longer continue.
    const waited = last?.paused ?? last;
    if (waited?.needs !== undefined) {
      store.holds.release(waited.id);
      const newest = history.newest();
      if (newest?.id === waited.id) history.replaceNewest(withoutWaiting(newest, DROPPED));
    }
    if (message !== undefined) history.add(message);
    history.compact({ agent, store, nowMs: now() });
    const turn = new Turn(options, attempt);
    turn.start();
    turn.steps.startStep();
    return turn;
  });
  return turn.run();
}

/**
 * Continues the newest message, whose calls have waited for a person. Rejects with `approval_not_found` if
 * none of them waits for these approvals, and with the error of an input that a person wrote and that may not run:
 * then nothing has changed. `onBegin` is called before the first commit. If some calls still wait, the model is not
 * called yet.
 */
export async function resumeTurn(
  options: TurnOptions,
  approvals: readonly ApprovalResponse[],
  onBegin?: (approvals: readonly ApprovalResponse[]) => void,
): Promise<TurnResult> {
  const { history, journal, post } = options;
  const given = decidedIn(history, approvals);
  requireOwnUser(given, options);
  const message = history.newest();
  const id = message?.id ?? "";
  const isWritten = given.some(({ approval: { input } }) => input !== undefined);
  // An attempt of its own: nothing of it stays if an input may not run.
  const tried = () => new Turn(options, new Attempt(options, headFor(options, id)), message);
  const decided = isWritten ? await tried().steps.pinned(given) : given;
  const last = journal.head();
  const waited = [last, last?.paused].find((head) => head?.id === id);
  const head = compact({
    ...headFor(options, id),
    approvals: decided.map(({ approval }) => approval),
    // Other calls of the turn may still wait when this attempt ends.
    needs: waited?.needs,
    counts: waited?.counts,
    post: postOf(waited?.post, post),
  });
  const attempt = new Attempt(options, head);
  const turn = new Turn(options, attempt, message);
  onBegin?.(decided.map(({ approval }) => approval));
  attempt.start("waited", () => turn.start());
  return turn.run((steps) => steps.decide(decided));
}

/**
 * Continues a turn after a crash, from its recovered log. Restarts the newest step if the model had not
 * finished it, else recovers its tool calls. Rejects only if the storage fails.
 */
export async function recoverTurn(options: TurnOptions, recoveredLog: RecoveredLog) {
  const attempt = Attempt.next(options, recoveredLog);
  const { id, approvals } = attempt.head;
  const newest = approvals === undefined ? undefined : options.history.newest();
  const message = newest?.id === id ? newest : undefined;
  const turn = new Turn(options, attempt, message);
  const isOpenStep = turn.restore(recoveredLog);
  attempt.start("interrupted", () => {
    if (isOpenStep) turn.steps.resetStep();
  });
  const { failure } = attempt;
  if (failure !== undefined) return turn.end("error", { code: "turn_failed", message: failure });
  if (isOpenStep) return turn.run();
  if (approvals !== undefined && recoveredLog.entries.length === 0) {
    return turn.run((steps) => steps.decide(decidedIn(options.history, approvals)));
  }
  return turn.run((steps) => steps.recoverCalls(recoveredLog.calls));
}

const DROPPED = "Another message was sent before it was decided. Ask for it again.";

/** The request that led to a continued turn: the question's fields with the newest request's key. */
function postOf(asked: Post | undefined, decided: Post | undefined): Post | undefined {
  const post = decided ?? asked;
  if (asked?.messageId === undefined) return post;
  const { messageId, partsDigest, shownDigest } = asked;
  return post && compact({ ...post, messageId, partsDigest, shownDigest });
}

class Turn {
  readonly #options: TurnOptions;
  readonly #attempt: Attempt;
  readonly #state: TurnState;
  readonly steps: Steps;
  readonly #resumed: StoredMessage | undefined;

  /** `resumed`: the message that has waited for a person. */
  constructor(options: TurnOptions, attempt: Attempt, resumed?: StoredMessage) {
    const { head, context } = attempt;
    const { id, counts, repeats } = head;
    const window = options.history.window({ answer: id, repeats });
    const { compacted } = options.history;
    this.#options = options;
    this.#attempt = attempt;
    this.#resumed = resumed;
    this.#state = new TurnState(context, {
      id,
      key: `${options.keyPrefix}/${id}`,
      resumed,
      // The message that continues may be too long for the window, but it is always in the prompt.
      isTainted: resumed?.tainted === true || isTaintedPrompt(window, compacted),
      counts,
    });
    this.steps = new Steps(context, {
      state: this.#state,
      window,
      outline: compacted,
      toolbox: attempt.toolbox,
      // Frame ids differ between attempts, so text ids must differ too.
      idSuffix: head.firstAttempt === undefined ? "" : `~${head.attempt}`,
    });
  }

  start(): void {
    this.#attempt.context.emit({ type: "start", messageId: this.#attempt.head.id });
  }

  /** Restores the state. Returns true if the model had not finished the newest step. */
  restore(recoveredLog: RecoveredLog): boolean {
    const { entries, steps } = recoveredLog;
    this.#state.restore(entries);
    const isOpen = steps > entries.filter(({ step }) => step !== undefined).length;
    this.steps.restore(recoveredLog, isOpen);
    return isOpen;
  }

  /** `first` runs before the model is called. If it returns a reason, the turn ends. */
  async run(first?: (steps: Steps) => Promise<FinishReason | undefined>): Promise<TurnResult> {
    let finishReason: FinishReason = "error";
    let error: TurnResult["error"];
    try {
      finishReason = await this.#attempt.run(async () => {
        await this.steps.open();
        return (await first?.(this.steps)) ?? (await this.steps.run());
      });
    } catch (thrown) {
      if (this.#options.signal.aborted) finishReason = "other";
      else error = this.#publicErrorOf(thrown);
    }
    await this.steps.flush();
    return this.end(finishReason, error);
  }

  #publicErrorOf(thrown: unknown): PublicError {
    const { details, ...known } = publicErrorOf(thrown);
    const all = { ...details, ...this.#options.onFailure?.(thrown) };
    return Object.keys(all).length === 0 ? known : { ...known, details: all };
  }

  /** Adds the answer to the history and closes the turn, in one commit. */
  end(finishReason: FinishReason, error: TurnResult["error"]): TurnResult {
    const { signal, now, store, timeline } = this.#options;
    const { context, head } = this.#attempt;
    const { emit } = context;
    return this.#attempt.end(() => {
      const isBroken = signal.aborted || error !== undefined;
      if (isBroken) this.steps.closeCalls();
      const { hasWaiting, counts } = this.#state;
      const attempts = [...(this.#resumed?.timeline ?? []), ...(timeline ? [timeline()] : [])];
      const isCut = !signal.aborted && CUT.has(finishReason);
      const metadata = { ...this.#metadata(), ...(isCut && { finishReason }) };
      const messageMetadata = {
        ...metadata,
        ...(error && { error: error.code, ...error.details }),
        ...(signal.aborted && { stopped: true }),
        ...this.steps.notice,
      };
      const message = {
        ...this.#state.message(this.#state.parts.parts, now()),
        ...(attempts.length > 0 && { timeline: attempts.slice(-MAX_ATTEMPTS) }),
        metadata: messageMetadata,
        ...(finishReason !== "stop" && { finishReason }),
      };
      this.#keep(message, isBroken);
      emit({ type: "message-metadata", messageMetadata });
      if (signal.aborted) emit({ type: "abort" });
      else if (error !== undefined)
        emit({ type: "error", errorText: `${error.code}: ${error.message}` });
      else emit({ type: "finish", finishReason });
      const shown = toUIMessage(message, "display");
      const whole = hasWaiting ? "waiting" : "done";
      return {
        end: {
          status: signal.aborted ? "stopped" : error === undefined ? whole : "failed",
          ...compact({ code: error?.code, limit: error && limitOf(error) }),
          finishReason,
          cost: metadata.cost,
          waits: hasWaiting
            ? { needs: store.holds.names(head.id), counts, spent: head.spent }
            : undefined,
        },
        result: compact({ metadata, message: shown, finishReason, error }),
      };
    });
  }

  /** Adds the answer to the history. The answer that it repeats stays if this one is not complete. */
  #keep(message: StoredMessage, isBroken: boolean): void {
    const { history } = this.#options;
    const { repeats } = this.#attempt.head;
    if (this.#resumed !== undefined) return history.replaceNewest(message);
    if (repeats !== undefined && isBroken && history.countAnswers(repeats) > 0) return;
    if (repeats !== undefined) history.removeAnswers(repeats);
    history.add(message);
  }

  /** Includes the rows of the end itself: those of the message, of the log, and of each message that is replaced. */
  #metadata(): TurnMetadata {
    const { history, cost } = this.#options;
    const { rowsRead, rowsWritten, alarms } = cost();
    const { repeats } = this.#attempt.head;
    const repeated = repeats === undefined ? 0 : history.countAnswers(repeats);
    const replaced = this.#resumed === undefined ? repeated : 1;
    const { usage, savings } = this.#attempt.context.account.counts;
    return { usage, savings, cost: { rowsRead, rowsWritten: rowsWritten + 2 + replaced, alarms } };
  }
}

/** The reasons that a provider gives for an answer that is not complete. */
const CUT: ReadonlySet<FinishReason> = new Set(["length", "content-filter", "other"]);

interface AttemptEnd extends Pick<TurnEnd, "status" | "code" | "limit" | "finishReason"> {
  /** Default: the cost once the end is committed. */
  readonly cost?: TurnEnd["cost"];
  /** Set if the attempt waits for a person: the fields that its head keeps until then. */
  readonly waits?: Partial<TurnHead> | undefined;
}

/**
 * The life cycle of one attempt at a turn or a plan run, between two crashes: its first commit, log, time
 * limit, spending and last commit. The caller supplies the work.
 */
export class Attempt {
  readonly head: TurnHead;
  readonly context: TurnContext & Pick<TurnOptions, "asker" | "keyPrefix">;
  /** Why the work is not tried again after a crash. Undefined if it is. */
  readonly failure: string | undefined;
  readonly #options: TurnOptions;
  readonly #timeout = new AbortController();

  constructor(options: TurnOptions, head: TurnHead, recoveredLog?: RecoveredLog) {
    const { store, log, emit, spendLimits = {}, leases, now } = options;
    const { contextTokens } = options.agent;
    this.head = head;
    this.failure = recoveredLog && giveUpReason(recoveredLog);
    this.#options = options;
    const signal = AbortSignal.any([options.signal, this.#timeout.signal]);
    const lease = leases && { leases, key: leaseKeyOf(head), now, signal };
    this.context = {
      ...options,
      account: new Account({
        store,
        contextTokens,
        limits: spendLimits,
        before: head.spent,
        lease,
      }),
      signal,
      emit: (chunk) => {
        log.push(chunk);
        emit?.(chunk);
      },
    };
  }

  /** The attempt after a crash, from the recovered log. */
  static next(options: TurnOptions, recoveredLog: RecoveredLog): Attempt {
    const last = options.journal.head();
    if (last === undefined) throw new ByrefError("internal", "There is no turn to continue.");
    const next = new Attempt(options, nextAttempt(last), recoveredLog);
    const counted = recoveredLog.entries.at(-1)?.state;
    if (counted !== undefined) next.context.account.restore(counted);
    return next;
  }

  /** The first attempt at a run. It replaces a turn that may wait for a person and can continue afterwards. */
  static ofRun(options: TurnOptions, id: string): Attempt {
    const paused = pausedIn(options.journal.head());
    return new Attempt(options, compact({ ...headFor(options, id), kind: "run" as const, paused }));
  }

  get toolbox() {
    return toolboxFor(this.context);
  }

  /** Asks the attempt's own agent one question. Rejects as `askAgent` does. */
  ask(question: ModelQuestion): Promise<ModelAnswer> {
    const equip = () => Promise.resolve(withOwnTools(this.context.agent));
    return askAgent(this.context, { ...this.context, equip }, question);
  }

  /** The time-out error that ended the attempt, or undefined. */
  get timeoutError(): unknown {
    return this.#timeout.signal.reason;
  }

  /** Runs `work` in the first commit: of a new turn, after a wait for a person, or after a crash. */
  start<Result>(turn: StartedTurn, work: () => Result): Result {
    const { log, journal } = this.#options;
    // Another turn or run may have replaced one that waited in the journal meanwhile.
    const isThere = journal.head()?.id === this.head.id;
    const started = turn === "waited" && !isThere ? "new" : turn;
    return this.#committed(() => log.start(journal, this.head, started, work));
  }

  /** Runs the work within the time limit. Streams the store's changes, at most `maxEntries`. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const { store, emit } = this.context;
    const [kind, ms] =
      this.head.kind === "run"
        ? (["run", limits.runMs] as const)
        : (["turn", limits.turnMs] as const);
    let changes = 0;
    const stopObserving = store.observe((change) => {
      const chunk = chunkOf(change);
      if (chunk !== undefined && ++changes <= limits.maxEntries) emit(chunk);
    });
    const message = `The ${kind} did not finish within ${ms} ms.`;
    const tooLong = new ByrefError("turn_timeout", message);
    const timer = setTimeout(() => this.#timeout.abort(tooLong), ms);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      stopObserving();
    }
  }

  /**
   * Runs `work` in the last commit, which ends the attempt or lets it wait for a person. Returns `result`. If
   * the commit fails, nothing is kept.
   */
  end<Result>(work: () => { readonly end: AttemptEnd; readonly result: Result }): Result {
    const { log, store, onEnd, cost } = this.#options;
    const { account } = this.context;
    const { end, result } = this.#committed(() =>
      log.end(work, (ended) => this.#endedHead(ended.end)),
    );
    const { waits, ...shown } = end;
    if (waits === undefined) store.holds.release(this.head.id);
    account.settle();
    const { usage, savings } = account.counts;
    onEnd?.({ cost: cost(), ...shown, usage, savings });
    return result;
  }

  #endedHead({ status, waits }: AttemptEnd): TurnHead {
    const { approvals: _, needs: _needs, counts: _counts, repeats: _repeats, ...kept } = this.head;
    const { asker, ...head } = kept;
    const { total, counts } = this.context.account;
    return {
      ...head,
      ...(this.#options.leases && { lease: { key: leaseKeyOf(head), spent: counts.spent } }),
      isOpen: false,
      ...(status === "failed" || status === "stopped" ? { ended: status } : {}),
      spent: total,
      ...(waits && compact({ ...waits, asker })),
    };
  }

  /** If `commit` fails, nothing is kept, and the in-memory state is read again. */
  #committed<Result>(commit: () => Result): Result {
    const { history, store } = this.#options;
    try {
      return commit();
    } catch (error) {
      history.forget();
      store.forget();
      throw error;
    }
  }
}

function pausedIn(last: TurnHead | undefined): TurnHead["paused"] {
  if (last?.needs === undefined) return last?.paused;
  const { id, needs, post, asker } = last;
  // The conversation's total already includes what the turn spent.
  const counts = last.counts && { ...last.counts, spent: NOTHING_SPENT };
  return compact({ id, needs, post, asker, counts });
}

/** Creates the head of an attempt that is not a retry. */
function headFor(options: TurnOptions, id: string): TurnHead {
  const { journal, agent, asker, conversation, trace } = options;
  const last = journal.head();
  return compact({
    id,
    attempt: (last?.attempt ?? 0) + 1,
    isOpen: true,
    agent: agent.name,
    asker,
    conversation,
    // The amount spent before the wait counts when the turn ends.
    spent: last?.id === id ? last.spent : spentBefore(last),
    trace,
  });
}

/** Converts a store change to a chunk. Undefined for a deletion. */
function chunkOf(change: Change): UIMessageChunk | undefined {
  if (change.kind === "deleted") return undefined;
  const { info } = change;
  const { evictedAt, reason } = change.kind === "evicted" ? change.tombstone : {};
  const data = reason === undefined ? info : { ...info, evictedAt, reason };
  return { type: "data-variable", data, transient: true };
}

/**
 * Throws `tool_denied` if an input that another than the asker wrote reads or writes the asker's own values. Texts
 * that may be such a reference count.
 */
function requireOwnUser(
  decided: readonly DecidedCall[],
  { asker, agent, store }: Pick<TurnOptions, "asker" | "agent" | "store">,
): void {
  if (store.user === undefined) return;
  const openings = pickSyntaxes(referencesOf(agent).syntaxes).map(({ opening }) => opening);
  for (const { approval, call } of decided) {
    const { input, principal } = approval;
    if (input === undefined || principal === asker?.principal) continue;
    const before = new Set(textsIn(call.input));
    const added = textsIn(input).filter((text) => !before.has(text));
    const parts = added.flatMap((text) => openings.flatMap((one) => text.split(one).slice(1)));
    const mayRead = parts.some((rest) => STARTS_WITH_USER.test(rest));
    if (!mayRead && !(isJsonObject(input) && input["scope"] === USER)) continue;
    const message = "Only the user who asked writes $user into the input of a call.";
    throw new ByrefError("tool_denied", message);
  }
}

const STARTS_WITH_USER = new RegExp(String.raw`^[^\w]*${USER}(?!\w)`, "u");

function textsIn(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || isScalar(value)) return [];
  return Object.values(value).flatMap((inner) => textsIn(inner as Json));
}
