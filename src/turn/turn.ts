import type { FinishReason, UIMessage } from "ai";
import { type PublicError, publicErrorOf } from "../errors.ts";
import { compact } from "../value/json.ts";
import { Attempt, headFor } from "./attempt.ts";
import { type StoredMessage, toUIMessage } from "./history/history.ts";
import type { Post } from "./history/post.ts";
import type { TurnHead } from "./log/journal.ts";
import type { RecoveredLog } from "./log/log-lines.ts";
import { giveUpReason } from "./log/recovery.ts";
import { TurnState } from "./log/turn-state.ts";
import type { Savings } from "./spend/savings.ts";
import type { Cost, Usage } from "./spend/spend.ts";
import { Steps } from "./steps.ts";
import { askAgentFor } from "./sub-turn.ts";
import type { TurnEnd, TurnOptions } from "./turn-context.ts";
import { type ApprovalResponse, decidedIn } from "./waiting-calls.ts";

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
  { id = options.newId(), message, replace }: Question = {},
): Promise<TurnResult> {
  const { history, journal, store, post } = options;
  const last = journal.head();
  const attempt = new Attempt(options, compact({ ...headFor(options, id), post }));
  const turn = attempt.begin(() => {
    replace?.();
    // A turn that waited for a person cannot go on any more.
    const waited = last?.paused ?? last;
    if (waited?.needs !== undefined) store.holds.release(waited.id);
    if (message !== undefined) history.add(message);
    const turn = new Turn(options, attempt);
    turn.start();
    turn.startStep();
    return turn;
  });
  return turn.run();
}

/**
 * Goes on with the newest message where its calls have waited for a person; rejects with
 * `approval_not_found` if none of them does. If some still wait, the model is not called yet.
 */
export async function resumeTurn(
  options: TurnOptions,
  approvals: readonly ApprovalResponse[],
): Promise<TurnResult> {
  const { history, journal, post } = options;
  const message = history.newest();
  const decided = decidedIn(message, approvals);
  const id = message?.id ?? "";
  const last = journal.head();
  const waited = [last, last?.paused].find((head) => head?.id === id);
  const head = compact({
    ...headFor(options, id),
    approvals: decided.map(({ approval }) => approval),
    // Other calls of it may still wait when this attempt ends.
    needs: waited?.needs,
    counts: waited?.counts,
    post: postOf(waited?.post, post),
  });
  const attempt = new Attempt(options, head);
  const turn = new Turn(options, attempt, message);
  attempt.resume(() => turn.start());
  return turn.run((steps) => steps.decide(decided));
}

/**
 * Goes on with a turn that a crash cut off, from what `log` has recovered of it: the newest step is begun
 * anew if the model had not finished it, else its tools are. Rejects only if the storage fails.
 */
export async function recoverTurn(
  options: TurnOptions,
  recoveredLog: RecoveredLog,
): Promise<TurnResult> {
  const attempt = Attempt.next(options);
  const { id, approvals } = attempt.head;
  const newest = approvals === undefined ? undefined : options.history.newest();
  const message = newest?.id === id ? newest : undefined;
  const turn = new Turn(options, attempt, message);
  const isOpenStep = turn.restore(recoveredLog);
  attempt.retry(() => {
    if (isOpenStep) turn.resetStep();
  });
  const reason = giveUpReason(recoveredLog);
  if (reason !== undefined) return turn.giveUp(reason);
  if (isOpenStep) return turn.run();
  if (approvals !== undefined && recoveredLog.entries.length === 0) {
    return turn.run((steps) => steps.decide(decidedIn(message, approvals)));
  }
  return turn.run((steps) => steps.recoverCalls(recoveredLog.calls));
}

/** What has led to a turn that goes on: the question, and how it goes on. */
function postOf(asked: Post | undefined, decided: Post | undefined): Post | undefined {
  const post = decided ?? asked;
  if (asked?.messageId === undefined) return post;
  return post && { ...post, messageId: asked.messageId, partsDigest: asked.partsDigest };
}

/** What is answered in one attempt at a turn. */
class Turn {
  readonly #options: TurnOptions;
  readonly #attempt: Attempt;
  readonly #state: TurnState;
  readonly #steps: Steps;
  readonly #isResumed: boolean;

  /** `resumed`: the message that has waited for a person. */
  constructor(options: TurnOptions, attempt: Attempt, resumed?: StoredMessage) {
    const { head, context } = attempt;
    const { id, counts } = head;
    const window = options.history.window(id);
    this.#options = options;
    this.#attempt = attempt;
    this.#isResumed = resumed !== undefined;
    this.#state = new TurnState(context, {
      id,
      key: `${options.keyPrefix}/${id}`,
      resumed,
      // The message that goes on may be too long for the window, and is in the prompt all the same.
      isTainted: [resumed, ...window].some((message) => message?.tainted === true),
      counts,
    });
    this.#steps = new Steps(context, {
      state: this.#state,
      window,
      toolbox: { ask: askAgentFor(context) },
      // Its frames are another attempt's; its texts are too.
      idSuffix: head.sitting === undefined ? "" : `~${head.attempt}`,
    });
  }

  start(): void {
    this.#attempt.context.emit({ type: "start", messageId: this.#attempt.head.id });
  }

  startStep(): void {
    this.#steps.startStep();
  }

  resetStep(): void {
    this.#steps.resetStep();
  }

  /** True if the model had not finished the newest step. */
  restore(recoveredLog: RecoveredLog): boolean {
    const { entries, steps } = recoveredLog;
    this.#state.restore(entries);
    const isOpen = steps > entries.filter(({ step }) => step !== undefined).length;
    this.#steps.restore(recoveredLog, isOpen);
    return isOpen;
  }

  /** `first` is done before the model is called; what it returns, if anything, ends the turn. */
  async run(first?: (steps: Steps) => Promise<FinishReason | undefined>): Promise<TurnResult> {
    let finishReason: FinishReason = "error";
    let error: TurnResult["error"];
    try {
      finishReason = await this.#attempt.run(async () => {
        await this.#steps.open();
        return (await first?.(this.#steps)) ?? (await this.#steps.run());
      });
    } catch (thrown) {
      if (this.#options.signal.aborted) finishReason = "other";
      else error = publicErrorOf(thrown);
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
    const { history, signal, now } = this.#options;
    const { emit } = this.#attempt.context;
    return this.#attempt.end(() => {
      if (signal.aborted || error !== undefined) this.#steps.closeCalls();
      const stored = this.#state.message(this.#state.parts.ended(), now());
      const metadata = this.#metadata(stored);
      const failure = {
        ...(error && { error: error.code, ...error.details }),
        ...(signal.aborted && { stopped: true }),
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
      const shown = toUIMessage(message, "display");
      return {
        end: {
          status: this.#status(error),
          code: error?.code,
          finishReason,
          cost: metadata.cost,
          waits: this.#waits(),
        },
        result: compact({ metadata, message: shown, finishReason, error }),
      };
    });
  }

  #waits(): Partial<TurnHead> | undefined {
    if (!this.#state.hasWaiting) return undefined;
    const { id, spent } = this.#attempt.head;
    const { counts } = this.#state;
    return { needs: this.#options.store.holds.names(id), counts, spent };
  }

  #status(error: TurnResult["error"]): TurnEnd["status"] {
    if (this.#options.signal.aborted) return "stopped";
    if (error !== undefined) return "failed";
    return this.#state.hasWaiting ? "waiting" : "done";
  }

  /** The rows in which the end is kept count in. */
  #metadata(kept: StoredMessage): TurnMetadata {
    const { history, log, cost } = this.#options;
    const { rowsRead, rowsWritten, alarms } = cost();
    const messageRows = history.rowsFor(kept) + (this.#isResumed ? 1 : 0);
    const { usage, savings } = this.#attempt.context.account.counts;
    return {
      usage,
      savings,
      cost: { rowsRead, rowsWritten: rowsWritten + messageRows + log.rowsToEnd(), alarms },
    };
  }
}
