import { type Bound, requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";

export interface WorkOptions {
  /** Default: `maxReadWork`. */
  readonly bound?: Bound;
  /** What the error says to do. */
  readonly advice?: string;
  /** The total that this work also counts toward. */
  readonly whole?: Work;
}

/**
 * Counts the work of reading values: characters read from storage, and elements, keys and characters that
 * paths visit. Each tool input, response and interpolation has its own; a read without one is counted
 * separately.
 */
export class Work {
  readonly #bound: Bound;
  readonly #advice: string;
  readonly #whole: Work | undefined;
  #done = 0;

  constructor({ bound = "maxReadWork", advice = ADVICE, whole }: WorkOptions = {}) {
    this.#bound = bound;
    this.#advice = advice;
    this.#whole = whole;
  }

  /** Adds work. Throws `limit_exceeded` when the total exceeds its limit, and on every later call. */
  spend(amount: number): void {
    this.#done += amount;
    requireAtMost(this.#bound, this.#done, this.#advice);
    this.#whole?.spend(amount);
  }

  /** Returns the first `maxItems` keys of an object. */
  keysOf(value: object): readonly string[] {
    this.spend(1);
    const keys = Object.keys(value);
    this.spend(KEY * keys.length);
    return keys.slice(0, limits.maxItems);
  }
}

/** Cost of listing a key, in characters read. */
const KEY = 10;
const ADVICE = "Refer to smaller parts, or to fewer variables.";
