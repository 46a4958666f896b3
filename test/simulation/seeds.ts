import { Random } from "../chaos/random.ts";
import type { Outcome } from "./checks.ts";
import { Broken } from "./client.ts";
import { compare } from "./compare.ts";
import { planFrom } from "./plan.ts";
import { type Disturbance, simulate, UNDISTURBED } from "./simulate.ts";

/** Crashes of one conversation at most; a turn gives up after ten tries that come to nothing. */
const MAX_CRASHES = 8;
const MAX_SHOWN = 5;

/** Conversations of so many seeds; all that is broken in them is in what it throws. */
export async function simulateSeeds(first: number, count: number): Promise<{ crashes: number }> {
  let crashes = 0;
  const broken: string[] = [];
  for (let seed = first; seed < first + count; seed++) {
    try {
      crashes += (await simulateSeed(seed)).crashes;
    } catch (error) {
      broken.push(error instanceof Error ? error.message : String(error));
    }
  }
  if (broken.length === 0) return { crashes };
  const shown = broken.slice(0, MAX_SHOWN).join("\n");
  throw new Error(`${broken.length} of ${count} conversations are broken:\n${shown}`);
}

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
