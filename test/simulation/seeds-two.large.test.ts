import { expect, test } from "vitest";
import { batches, simulateSeeds } from "./seeds.ts";

test.for(batches(1))("%i … %i: the same with crashes as without", async ([first, last]) => {
  const count = last - first + 1;
  expect(await simulateSeeds(first, count)).toBeGreaterThan(2 * count);
});
