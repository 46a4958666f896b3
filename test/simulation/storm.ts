import { type Outcome } from "./checks.ts";
import type { Plan } from "./plan.ts";
import { simulate, UNDISTURBED } from "./simulate.ts";

const SEED = 1;

/**
 * Crashes the object that many waits before the end of the conversation, and then every further object once
 * it has begun its attempt.
 */
export async function storm(plan: Plan, lastWaits: number): Promise<Outcome> {
  const { waits } = await simulate(plan, SEED, UNDISTURBED);
  let wait = 0;
  let hasCrashed = false;
  return simulate(plan, SEED, {
    crashes: (steps) => {
      // The first wait precedes the attempt.
      if (hasCrashed) return steps === 1;
      hasCrashed = wait++ === Math.max(waits - lastWaits, 0);
      return hasCrashed;
    },
    loses: () => false,
  });
}
