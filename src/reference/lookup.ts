import { type ErrorCode, requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Json } from "../value/json.ts";
import { Work } from "../value/work.ts";
import type { Reference } from "./reference.ts";

/** The value of a reference. */
export interface Found {
  readonly found: true;
  /** Read-only: all readers may share one frozen copy. */
  readonly value: Json;
  /** The value's size as text, if it is known without serializing the value. */
  readonly chars?: number;
  /** The variable that contains the value, and its version, if known. */
  readonly name?: string;
  readonly version?: number;
  /** URLs in the value print inert, so that no renderer makes a link or image of them. */
  readonly inert?: boolean;
}

/** Why a reference has no value. */
export interface Missing {
  readonly found: false;
  /** `unreadable`: the value exists, but cannot be returned as JSON; `code` and `message` explain why. */
  readonly reason: "unknown" | "path" | "evicted" | "secret" | "unreadable";
  readonly code?: ErrorCode;
  /** The longest existing prefix of the reference, as text. Set for `path`. */
  readonly nearest?: string;
  /** The first keys of the value at `nearest`. Set for `path`. */
  readonly keys?: readonly string[];
  /** The number of elements or characters at `nearest`. Set for `path`. */
  readonly length?: number;
  /** The type of the value at `nearest`, if it is a scalar. */
  readonly type?: string;
  /** Names or keys similar to the written one. */
  readonly near?: readonly string[];
  /** A text with the time, the reason and how to get the value back. Set for `evicted`. */
  readonly message?: string;
  /** The content of `message` as data. Set for `evicted`. */
  readonly tombstone?: object;
}

/**
 * Looks up the value of a reference in a store or elsewhere. Returns a miss instead of throwing. `work`
 * counts the cost of all lookups of one input or response.
 */
export type Lookup = (
  reference: Reference,
  work?: LookupWork,
) => Found | Missing | Promise<Found | Missing>;

/** The work of looking up the references of one tool input, response or interpolation. */
export class LookupWork extends Work {
  /** The names of the newest variables, listed once. */
  names: readonly string[] | undefined;
  #explained = 0;
  #insertedChars = 0;

  /** Counts a miss. True for the first `maxBatchItems`, which may suggest similar names. */
  explains(): boolean {
    return this.#explained++ < limits.maxBatchItems;
  }

  /** Counts the characters that references insert. Throws `limit_exceeded` above `maxStepInputChars`. */
  countInserted(chars: number): void {
    this.#insertedChars += chars;
    const advice = "Call fewer tools with large values at once.";
    requireAtMost("maxStepInputChars", this.#insertedChars, advice);
  }
}
