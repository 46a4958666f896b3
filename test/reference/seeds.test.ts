import { expect, it } from "vitest";
import { firstDifference } from "../support/fuzz.ts";
import { sampled, samples } from "../support/slow.ts";

const SEEDS = samples(40_000);

it(`an answer matches the oracle for the seeds 1 to ${SEEDS}`, sampled, async () => {
  expect(await firstDifference(1, SEEDS)).toBeUndefined();
});
