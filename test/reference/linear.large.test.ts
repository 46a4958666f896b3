import { expect, it } from "vitest";
import { openings, stepsOf } from "../support/reading-steps.ts";

const CHARS = 100_000;
/** Characters per chunk: the whole text at once, and chunks as small as a model's. */
const CHUNKS = [Infinity, 7];

/** Returns the greatest factor by which the steps of any kind grow when the text doubles. */
function growthOf(unit: string, chunkChars: number): number {
  const times = Math.ceil(CHARS / unit.length);
  const once = stepsOf(unit.repeat(times), chunkChars);
  const twice = stepsOf(unit.repeat(times * 2), chunkChars);
  const kinds = ["matches", "viewed", "read", "lookups"] as const;
  // Ignores steps that are few at any length.
  return Math.max(...kinds.map((kind) => twice[kind] / Math.max(once[kind], 100)));
}

it.each(openings)("200,000 characters of %s cost twice as much as 100,000", (_name, unit) => {
  for (const chunkChars of CHUNKS) {
    const growth = growthOf(unit, chunkChars);
    expect(growth).toBeGreaterThan(1.9);
    expect(growth).toBeLessThanOrEqual(2.02);
  }
});
