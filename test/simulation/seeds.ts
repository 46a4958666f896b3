import { Random } from "../chaos/random.ts";
import { isUnknown, type Outcome, same } from "./checks.ts";
import { Broken } from "./client.ts";
import { planFrom } from "./plan.ts";
import { type Disturbance, simulate, UNDISTURBED } from "./simulate.ts";

/** Crashes of one conversation at most; a turn gives up after ten tries that come to nothing. */
const MAX_CRASHES = 8;

/** A conversation of this seed, without crashes and with them. The seed is in what it throws. */
export async function simulateSeed(seed: number): Promise<Outcome> {
  try {
    const random = new Random(seed);
    const plan = planFrom(random.fork());
    const expected = await simulate(plan, seed, UNDISTURBED);
    const actual = await simulate(plan, seed, crashesFrom(random, expected.waits));
    compare(actual, expected);
    return actual;
  } catch (error) {
    const what = error instanceof Broken ? error.message : String(error);
    throw new Error(`Seed ${seed}: ${what}`, { cause: error });
  }
}

function crashesFrom(random: Random, waits: number): Disturbance {
  const wanted = random.between(1, MAX_CRASHES);
  const probability = Math.min(0.5, (wanted / Math.max(waits, 1)) * random.one([0.5, 1, 3]));
  let crashes = 0;
  return {
    crashes: () => {
      const isTime = crashes < wanted && random.chance(probability);
      if (isTime) crashes++;
      return isTime;
    },
    loses: () => random.chance(0.5),
  };
}

/** The same came of both; up to where an outcome is not known. */
export function compare(actual: Outcome, expected: Outcome): void {
  for (const [index, message] of actual.messages.entries()) {
    const planned = expected.messages[index];
    const unknown = message.parts.findIndex(isUnknown);
    if (unknown < 0) {
      same(message, planned, `message ${index} with and without crashes`);
      continue;
    }
    const steps = message.parts.slice(0, unknown) as readonly { readonly type: string }[];
    const start = steps.findLastIndex(({ type }) => type === "step-start");
    const some = message.parts.slice(0, start);
    same(some, planned?.parts.slice(0, start), `message ${index} before what is unknown`);
    return;
  }
  same(actual.messages.length, expected.messages.length, "messages with and without crashes");
  same(actual.variables, expected.variables, "variables with and without crashes");
}
