import { requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { Work } from "../value/work.ts";
import type { Missing } from "./reference.ts";

/** The work of looking up the references of one tool input, answer or interpolation. */
export class LookupWork extends Work {
  /** Misses by variable, version and path; at most `maxExplainedMisses`. */
  readonly missed = new Map<string, Missing>();
  /** The names of the newest variables, listed once. */
  names: readonly string[] | undefined;
  #explained = 0;
  #broughtIn = 0;

  /** Counts a miss. True if it may be explained with near names: the first `maxExplainedMisses`. */
  explains(): boolean {
    return this.#explained++ < limits.maxExplainedMisses;
  }

  /** Counts what references bring in. Throws `limit_exceeded` above this share of `maxStepInputChars`. */
  bringIn(chars: number): void {
    this.#broughtIn += chars;
    const maximum = limits.maxStepInputChars / this.share;
    const advice = "Call fewer tools with large values at once.";
    requireAtMost(["maxStepInputChars", maximum], this.#broughtIn, advice);
  }
}
