import { expect, test } from "vitest";
import { sampled, samples } from "../support/slow.ts";
import { CONVERSATIONS } from "./exhaustive.ts";
import { simulateSeeds } from "./seeds.ts";
import type { Outcome } from "./checks.ts";
import type { Plan } from "./plan.ts";
import { simulate } from "./simulate.ts";

const SEEDS = samples(50);

/**
 * Crashes the object that many waits before the end of the conversation, and then every further object once
 * it has begun its attempt.
 */
async function storm(plan: Plan, lastWaits: number): Promise<Outcome> {
  const { waits } = await simulate(plan, 1);
  let wait = 0;
  let hasCrashed = false;
  return simulate(plan, 1, {
    crashes: (steps) => {
      // The first wait precedes the attempt.
      if (hasCrashed) return steps === 1;
      hasCrashed = wait++ === Math.max(waits - lastWaits, 0);
      return hasCrashed;
    },
    loses: () => false,
  });
}

test(`${SEEDS} conversations come to the same with crashes as without`, sampled, async () => {
  expect(await simulateSeeds(1, SEEDS)).toBeGreaterThan(SEEDS);
});

test.for(Object.entries(CONVERSATIONS))(
  "a turn that gets no further is given up, and what it has is kept: %s",
  async ([, plan]) => {
    const { messages } = await storm(plan, 3);
    const answer = messages.at(-1);
    expect(answer?.error).toBe("turn_failed");
    expect(answer?.parts.length).toBeGreaterThan(2);
  },
);

test("a turn whose process dies in each try is tried three times, the last after a second", async () => {
  const [plan] = Object.values(CONVERSATIONS);
  const { delays } = await storm(plan ?? { turns: [] }, Infinity);
  expect(delays.slice(0, 3)).toEqual([0, 1_000, 0]);
});
