import { type Bound, requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";

export interface WorkOptions {
  /** Default: `maxReadWork`, or a share of it. */
  readonly bound?: Bound;
  /** What this work is a part of: it counts there too. */
  readonly whole?: Work;
}

/** The work of all reads of one run, of code or of a plan; its calls have a bound of their own each. */
export function workOfRun(): Work {
  return new Work(1, { bound: ["maxRunReadWork", limits.maxRunReadWork] });
}

/**
 * Counts the work of reading values: characters read from storage, and the elements, keys and characters
 * that paths visit. Each tool input, answer and interpolation has its own; a read without one is counted
 * by itself.
 */
export class Work {
  /** The number of inputs that share the bound equally. */
  readonly share: number;
  readonly #bound: Bound;
  readonly #whole: Work | undefined;
  #done = 0;
  /** Of large objects only, since listing their keys takes milliseconds. */
  readonly #keys = new WeakMap<object, readonly string[]>();

  constructor(share = 1, { bound, whole }: WorkOptions = {}) {
    this.share = share;
    this.#bound = bound ?? ["maxReadWork", limits.maxReadWork / share];
    this.#whole = whole;
  }

  /** Throws `limit_exceeded` when the total passes its bound, and on every later call. */
  spend(amount: number): void {
    this.#done += amount;
    requireAtMost(this.#bound, this.#done, ADVICE);
    this.#whole?.spend(amount);
  }

  /** The first `maxMissKeys` keys of an object. The keys of a large object are listed once. */
  keysOf(value: object): readonly string[] {
    const known = this.#keys.get(value);
    if (known !== undefined) return known;
    this.spend(1);
    const all = Object.keys(value);
    const keys = all.slice(0, limits.maxMissKeys);
    if (keys.length < all.length) this.#keys.set(value, keys);
    this.spend(KEY * all.length);
    return keys;
  }
}

/** Listing a key takes about as long as reading so many characters. */
const KEY = 10;
const ADVICE = "Refer to smaller parts, or to fewer variables.";
