import { expect, it } from "vitest";
import { firstDifference } from "../support/fuzz.ts";
import { slow } from "../support/slow.ts";

it("an answer matches the oracle for the seeds 1 to 4,000", slow, async () => {
  expect(await firstDifference(1, 4_000)).toBeUndefined();
});
