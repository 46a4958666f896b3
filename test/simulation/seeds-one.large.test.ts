import { expect, test } from "vitest";
import { batches, simulateSeeds } from "./seeds.ts";

test.for(batches(0))("%i … %i: the same with crashes as without", async ([first, last]) => {
  const count = last - first + 1;
  const { crashes } = await simulateSeeds(first, count);
  expect(crashes).toBeGreaterThan(2 * count);
});
