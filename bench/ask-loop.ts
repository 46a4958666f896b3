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

/** Lets each conversation ask its next question after each answer, for `forMs`. It stops at its first error. */
export async function askInLoop(
  begin: (index: number) => Talk,
  { conversations, forMs }: { readonly conversations: number; readonly forMs: number },
): Promise<LoopResult> {
  const startMs = performance.now();
  const turnMs: number[] = [];
  let failed = 0;
  const loop = async (index: number): Promise<void> => {
    const talk = begin(index);
    while (performance.now() < startMs + forMs) {
      const answer = await talk.ask(LOAD).catch(() => undefined);
      if (answer?.isExact !== true) {
        failed++;
        break;
      }
      turnMs.push(answer.wholeMs);
    }
    talk.close();
  };
  await Promise.all(Array.from({ length: conversations }, (_, index) => loop(index)));
  return { turnMs: turnMs.toSorted((a, b) => a - b), failed, wallMs: performance.now() - startMs };
}
