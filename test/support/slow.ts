/** Options of a test that takes more than a third of a second. Only `npm run test:all` runs it. */
export const slow = { tags: ["slow"] };

/** Options of a test that calls `samples`. */
export const sampled = { tags: ["sampled"] };

/**
 * Returns how many samples a property takes: all in `npm run test:all`, a tenth in `npm test` or without it. With
 * `SAMPLES=3`, a third.
 */
export function samples(count: number): number {
  const { SAMPLES = "10" } = process.env;
  return SAMPLES === "all" ? count : Math.ceil(count / Number(SAMPLES));
}
