import { expect, it } from "vitest";
import { firstDifference } from "../support/fuzz.ts";

it("an answer matches the oracle for the seeds 1 to 100,000", async () => {
  expect(await firstDifference(1, 100_000)).toBeUndefined();
});
