import { ByrefError, codeOf } from "../errors.ts";
import { retryConflicts } from "../store/retry-conflicts.ts";
import type { PreparedWrite, Variables, Write } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";

/**
 * Prepares a change. `commit` makes it, synchronously, and throws `conflict` if it has to be prepared again.
 */
export type Prepare<Result> = () => Promise<PreparedWrite<Result>>;

/** Replacement for writes that the store refuses: other writes, or a result without a saved value. */
type Refusal<Result> = { readonly writes: readonly Write[] } | { readonly result: () => Result };

interface SaveOptions<Result> {
  /**
   * Throws if the save is not allowed. Called again at the commit, because other writes may have happened
   * since.
   */
  readonly check: () => void;
  /**
   * Gives the write its required visibility, which depends on the current variable. Default: the write's
   * own.
   */
  readonly guard?: (write: Write) => Write;
  /** Called with the saved variables, as part of the commit. */
  readonly onSaved: (infos: readonly VariableInfo[], writes: readonly Write[]) => Result;
  /** Handles a refused write, or throws the error to report. */
  readonly onRefused: (error: unknown, writes: readonly Write[]) => Refusal<Result>;
}

/** Saves all of the writes or none of them. */
export function savingAll<Result>(
  store: Variables,
  initial: readonly Write[],
  { check, guard = (write) => write, onSaved, onRefused }: SaveOptions<Result>,
): Prepare<Result> {
  let current = initial;
  const prepare: Prepare<Result> = async () => {
    check();
    const writes = current.map(guard);
    const replacementFor = (error: unknown): (() => Result) | undefined => {
      const refusal = onRefused(error, writes);
      if ("result" in refusal) return refusal.result;
      current = refusal.writes;
    };
    let prepared: PreparedWrite<readonly VariableInfo[]>;
    try {
      prepared = await store.prepareAll(writes);
    } catch (error) {
      const result = replacementFor(error);
      return result === undefined ? prepare() : change(result);
    }
    const commit = () => {
      check();
      if (writes.some((write) => guard(write).visibility !== write.visibility)) throw changed();
      let infos: readonly VariableInfo[];
      try {
        infos = prepared.commit();
      } catch (error) {
        if (codeOf(error) === "conflict") throw error;
        const result = replacementFor(error);
        if (result === undefined) throw changed();
        return result();
      }
      return onSaved(infos, writes);
    };
    return { commit, discard: prepared.discard };
  };
  return prepare;
}

function changed(): ByrefError {
  return new ByrefError("conflict", "The target has changed; prepare it again.");
}

/** A change that needs no asynchronous preparation. */
export function change<Result>(commit: () => Result): PreparedWrite<Result> {
  return { commit, discard: () => undefined };
}

/** Returns the same change with a mapped result. */
export function mapped<From, To>(
  { commit, discard }: PreparedWrite<From>,
  use: (result: From) => To,
): PreparedWrite<To> {
  return { commit: () => use(commit()), discard };
}

/** Prepares and commits a change; repeats both after a conflict with another write. */
export function saved<Result>(store: Variables, prepare: Prepare<Result>): Promise<Result> {
  return retryConflicts(store, async () => (await prepare()).commit());
}
