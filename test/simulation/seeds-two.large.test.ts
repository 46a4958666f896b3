import { expect, test } from "vitest";
import { simulateSeeds } from "./seeds.ts";

const SEEDS = 500;
const starts = Array.from({ length: 10 }, (_, batch) => 5_001 + batch * SEEDS);

test.for(starts)(
  "500 conversations come to the same with crashes as without, from %i",
  async (start) => {
    const { crashes } = await simulateSeeds(start, SEEDS);
    expect(crashes).toBeGreaterThan(2 * SEEDS);
  },
);
