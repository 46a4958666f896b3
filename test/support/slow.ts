/** Options of a test that takes more than a third of a second. Only `npm run test:all` runs it. */
export const slow = { tags: ["slow"] };

/** Options of a test that calls `samples`. */
export const sampled = { tags: ["sampled"] };

/** Returns how many samples a property takes: all in `npm run test:all`, a tenth in `npm test`. */
export function samples(count: number): number {
  return process.env["SAMPLES"] === "all" ? count : Math.ceil(count / 10);
}
