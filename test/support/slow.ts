/** Options of a test that takes more than a third of a second. Only `npm run test:all` runs it. */
export const slow = { tags: ["slow"] };

/** Options of a test that calls `samples`. */
export const sampled = { tags: ["sampled"] };

/**
 * Returns how many samples a property takes: all in `npm run test:all`, a tenth in `npm test` or without it. With
 * `SAMPLES=3`, a third.
 */
export const samples = (count: number): number => Math.ceil(count / sampleStep);

/** One of this many places is tried by a test that could try all of them. */
export const sampleStep = stepOf(process.env.SAMPLES);

function stepOf(given = "10"): number {
  return given === "all" ? 1 : Number(given);
}
