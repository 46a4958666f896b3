import type { Load } from "./load.ts";
import type { Talk } from "./talk.ts";

/** The turns of a load test: a third of a page in 22 deltas, at the pace of a fast model. */
export const LOAD: Load = { deltas: 22, gapMs: 20 };

export interface LoopResult {
  /** Milliseconds of each complete turn, sorted. */
  readonly turnMs: readonly number[];
  /** Turns that ended with an error or with another answer. */
  readonly failed: number;
  /** Time until the end of the last turn. */
  readonly wallMs: number;
}

/**
 * Lets each conversation ask its next question after each answer. Measures turns that begin after every
 * conversation has had its first answer, for `forMs`: what a new conversation costs is measured by `many`. A
 * conversation stops at its first error.
 */
export async function askInLoop(
  begin: (index: number) => Talk,
  { conversations, forMs }: { readonly conversations: number; readonly forMs: number },
): Promise<LoopResult> {
  let startMs = Number.POSITIVE_INFINITY;
  let begun = 0;
  const turnMs: number[] = [];
  let failed = 0;
  const countBegun = () => {
    if (++begun === conversations) startMs = performance.now();
  };
  const loop = async (index: number): Promise<void> => {
    const talk = begin(index);
    for (let turn = 0; performance.now() < startMs + forMs; turn++) {
      const askedMs = performance.now();
      const answer = await talk.ask(LOAD).catch(() => undefined);
      if (turn === 0) countBegun();
      if (answer?.isExact !== true) {
        failed++;
        break;
      }
      if (askedMs >= startMs) turnMs.push(answer.wholeMs);
    }
    talk.close();
  };
  await Promise.all(Array.from({ length: conversations }, (_, index) => loop(index)));
  return { turnMs: turnMs.toSorted((a, b) => a - b), failed, wallMs: performance.now() - startMs };
}
