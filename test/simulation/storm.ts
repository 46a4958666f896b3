import { type Outcome } from "./checks.ts";
import type { Plan } from "./plan.ts";
import { simulate, UNDISTURBED } from "./simulate.ts";

const SEED = 1;

/**
 * From the last waits of the conversation on, every object crashes when it has begun its attempt; as many
 * objects as it takes.
 */
export async function storm(plan: Plan, lastWaits: number): Promise<Outcome> {
  const { waits } = await simulate(plan, SEED, UNDISTURBED);
  let wait = 0;
  let hasCrashed = false;
  return simulate(plan, SEED, {
    crashes: (steps) => {
      // Its first wait is the one before the attempt.
      if (hasCrashed) return steps === 1;
      hasCrashed = wait++ === Math.max(waits - lastWaits, 0);
      return hasCrashed;
    },
    loses: () => false,
  });
}
