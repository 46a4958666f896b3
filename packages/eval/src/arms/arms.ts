import { byReference, withSql } from "./by-reference.ts";
import { byValue, capped } from "./by-value.ts";
import type { Arm } from "./arm.ts";
import { offloaded } from "./offload.ts";

/** All arms, in the order of `armNames`. */
export const arms: readonly Arm[] = [byValue, capped, offloaded, byReference, withSql];

const WORDS = ["value", "cap", "offload", "reference", "sql"];

/** Returns the arms with these words: value, cap, offload, reference, sql. Undefined: all. */
export function armsNamed(words: readonly string[] | undefined): readonly Arm[] {
  if (words === undefined) return arms;
  const unknown = words.find((word) => !WORDS.includes(word));
  if (unknown !== undefined) {
    throw new Error(`There is no arm ${unknown}; there are ${WORDS.join(", ")}.`);
  }
  return arms.filter((_, index) => words.includes(WORDS[index] ?? ""));
}
