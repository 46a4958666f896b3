import { type ErrorCode, requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Json } from "../value/json.ts";
import { Work } from "../value/work.ts";
import type { Reference } from "./reference.ts";

/** A value that a reference stands for. */
export interface Found {
  readonly found: true;
  /** Read-only: it may be the one frozen copy that everyone is handed. */
  readonly value: Json;
  /** The value's size as text, where it is known without writing it out. */
  readonly chars?: number;
  /** The variable that it is, or is a part of, where somebody asks. */
  readonly name?: string;
  /** Prints with its URLs inert, so that no renderer makes a link or an image of them. */
  readonly inert?: boolean;
}

/** Why a reference stands for nothing. */
export interface Missing {
  readonly found: false;
  /** `unreadable`: it exists, but cannot be handed over as JSON; `code` and `message` say why. */
  readonly reason: "unknown" | "path" | "evicted" | "secret" | "unreadable";
  readonly code?: ErrorCode;
  /** For `path`: the longest start of the reference that exists, as text. */
  readonly nearest?: string;
  /** For `path`: the first keys there. */
  readonly keys?: readonly string[];
  /** For `path`: elements or characters there. */
  readonly length?: number;
  /** Names or keys that are nearly what was written. */
  readonly near?: readonly string[];
  /** For `evicted`: when, why, and how to get it back, in words. */
  readonly message?: string;
  /** For `evicted`: the same as data. */
  readonly tombstone?: object;
}

/**
 * Where `reference` and the store meet. It never throws for a missing value. `work` counts what the lookups
 * of one input or answer cost together.
 */
export type Lookup = (
  reference: Reference,
  work?: LookupWork,
) => Found | Missing | Promise<Found | Missing>;

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
