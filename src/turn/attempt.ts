import type { UIMessageChunk } from "ai";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Change } from "../store/variable.ts";
import { compact } from "../value/json.ts";
import type { TurnHead } from "./log/journal.ts";
import { nextAttempt } from "./log/recovery.ts";
import { Lease, leaseKeyOf, leaseOf } from "./spend/lease.ts";
import { Account, Spend, spentBefore } from "./spend/spend.ts";
import type { TurnContext, TurnEnd, TurnOptions } from "./turn-context.ts";

/** The outcome of an attempt. */
export interface AttemptEnd extends Pick<TurnEnd, "status" | "code" | "limit" | "finishReason"> {
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
  readonly context: TurnContext;
  readonly #options: TurnOptions;
  readonly #timeout = new AbortController();

  constructor(options: TurnOptions, head: TurnHead) {
    const { store, log, emit, spendLimits = {}, leases, now } = options;
    this.head = head;
    this.#options = options;
    const signal = AbortSignal.any([options.signal, this.#timeout.signal]);
    const lease = leases && new Lease({ key: leaseKeyOf(head), leases, now, signal });
    this.context = {
      ...options,
      account: new Account(
        store,
        new Spend(spendLimits, head.spent, lease),
        options.agent.contextTokens,
      ),
      signal,
      emit: (chunk) => {
        log.push(chunk);
        emit?.(chunk);
      },
    };
  }

  /** Creates the next attempt after a crash. */
  static next(options: TurnOptions): Attempt {
    const last = options.journal.head();
    if (last === undefined) throw new ByrefError("internal", "There is no turn to continue.");
    return new Attempt(options, nextAttempt(last));
  }

  /** The time-out error that ended the attempt, or undefined. */
  get timeoutError(): unknown {
    return this.#timeout.signal.reason;
  }

  /** Runs `work` in the first commit. If the commit fails, nothing is kept. */
  begin<Result>(work: () => Result): Result {
    const { log, journal } = this.#options;
    return this.#committed((both) => log.begin(journal, this.head, both), work);
  }

  /** Runs `work` in the first commit after a wait for a person. */
  resume<Result>(work: () => Result): Result {
    const { log, journal } = this.#options;
    // Another turn or run may have replaced it in the journal meanwhile.
    if (journal.head()?.id !== this.head.id) return this.begin(work);
    return this.#committed((both) => log.resume(journal, this.head, both), work);
  }

  /** Runs `work` in the first commit after a crash. */
  retry(work: () => void): void {
    const { log, journal } = this.#options;
    this.#committed((both) => log.retry(journal, this.head, both), work);
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
    const timer = setTimeout(() => this.#timeout.abort(tooLong(kind, ms)), ms);
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
    const { end, result } = this.#committed((both) => {
      log.end(() => this.#endedHead(both().end));
    }, work);
    const { waits, ...shown } = end;
    if (waits === undefined) store.holds.release(this.head.id);
    account.spend.settle();
    const { usage, savings } = account.counts;
    onEnd?.({ cost: cost(), ...shown, usage, savings });
    return result;
  }

  #endedHead({ status, waits }: AttemptEnd): TurnHead {
    const { approvals: _, needs: _needs, counts: _counts, repeats: _repeats, ...kept } = this.head;
    const { asker, ...head } = kept;
    const { total, turn } = this.context.account.spend;
    return {
      ...head,
      ...leaseOf(this.#options, head, turn),
      isOpen: false,
      ...(status === "failed" || status === "stopped" ? { ended: status } : {}),
      spent: total,
      ...(waits && compact({ ...waits, asker })),
    };
  }

  /**
   * Returns the result of `work`. If `commit` fails, nothing is kept, and the in-memory state is read again.
   */
  #committed<Result>(commit: (work: () => Result) => void, work: () => Result): Result {
    const { history, store } = this.#options;
    const results: Result[] = [];
    try {
      commit(() => {
        const result = work();
        results.push(result);
        return result;
      });
    } catch (error) {
      history.forget();
      store.forget();
      throw error;
    }
    for (const result of results) return result;
    throw new ByrefError("internal", "The turn was not recorded.");
  }
}

/** Creates the head of an attempt that is not a retry. */
export function headFor(options: TurnOptions, id: string): TurnHead {
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

function tooLong(kind: "turn" | "run", ms: number): ByrefError {
  return new ByrefError("turn_timeout", `The ${kind} did not finish within ${ms} ms.`);
}

/** Converts a store change to a chunk. Undefined for a deletion. */
function chunkOf(change: Change): UIMessageChunk | undefined {
  if (change.kind === "deleted") return undefined;
  const { info } = change;
  const { evictedAt, reason } = change.kind === "evicted" ? change.tombstone : {};
  const data = reason === undefined ? info : { ...info, evictedAt, reason };
  return { type: "data-variable", data, transient: true };
}
