import { expect, it } from "vitest";
import { firstDifference } from "../support/fuzz.ts";

it("an answer is what the oracle says for the seeds from 1 to 100,000", async () => {
  expect(await firstDifference(1, 100_000)).toBeUndefined();
});
