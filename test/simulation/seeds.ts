import { Random } from "../chaos/random.ts";
import { type Outcome, compare } from "./checks.ts";
import { samples } from "../support/slow.ts";
import { type Plan, planFrom } from "./plan.ts";
import { type Disturbance, simulate } from "./simulate.ts";

/** Maximum number of crashes in a conversation. A turn is given up after ten attempts without progress. */
const MAX_CRASHES = 8;
/** Share of conversations in which a user stops a turn. */
const STOPPED = 0.15;
const MAX_SHOWN = 5;

/** `SEEDS=10000` for more. */
const SEEDS = Number(process.env.SEEDS ?? samples(2_000));
const BATCH = 100;

/** Returns the first and last seeds of every other batch, from the first or the second one on. */
export function batches(offset: 0 | 1): readonly (readonly [number, number])[] {
  const all = Array.from({ length: Math.ceil(SEEDS / BATCH) }, (_, batch) => {
    const last = Math.min((batch + 1) * BATCH, SEEDS);
    return [batch * BATCH + 1, last] as const;
  });
  return all.filter((_, index) => index % 2 === offset);
}

/** Plays the conversations of these seeds. Returns the number of crashes. Throws an error that lists what broke. */
export async function simulateSeeds(first: number, count: number): Promise<number> {
  let crashes = 0;
  const broken: string[] = [];
  for (let seed = first; seed < first + count; seed++) {
    try {
      crashes += (await simulateSeed(seed)).crashes;
    } catch (error) {
      broken.push(error instanceof Error ? error.message : String(error));
    }
  }
  if (broken.length === 0) return crashes;
  const shown = broken.slice(0, MAX_SHOWN).join("\n");
  throw new Error(`${broken.length} of ${count} conversations are broken:\n${shown}`);
}

/** Plays the seed's conversation without and with crashes, and compares the outcomes. */
async function simulateSeed(seed: number): Promise<Outcome> {
  const random = new Random(seed);
  const plan = planFrom(random.fork());
  const expected = await simulate(plan, seed).catch((error: unknown) => {
    throw new Error(`Seed ${seed}: ${String(error)}`, { cause: error });
  });
  const disturbance = disturbanceFrom(random, expected.waits);
  return disturbed({ plan, seed, expected, disturbance, how: `Seed ${seed}` });
}

interface Disturbed {
  readonly plan: Plan;
  readonly seed: number;
  /** The outcome without a disturbance. */
  readonly expected: Outcome;
  readonly disturbance: Disturbance;
  /** What an error says. */
  readonly how: string;
}

/** Plays a conversation that is disturbed, and compares the outcomes. */
export async function disturbed(about: Disturbed): Promise<Outcome> {
  const { plan, seed, expected, disturbance, how } = about;
  try {
    const actual = await simulate(plan, seed, disturbance);
    compare(actual, expected, plan);
    return actual;
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    throw new Error(`${how}: ${what}`, { cause: error });
  }
}

function disturbanceFrom(random: Random, waits: number): Disturbance {
  const wanted = random.between(1, MAX_CRASHES);
  const probability = Math.min(0.5, (wanted / Math.max(waits, 1)) * random.one([0.5, 1, 3]));
  let crashes = 0;
  let untilStop = random.chance(STOPPED) ? random.between(0, waits) : -1;
  return {
    sparesLastTry: true,
    stops: () => untilStop-- === 0,
    crashes: () => {
      const isTime = crashes < wanted && random.chance(probability);
      if (isTime) crashes++;
      return isTime;
    },
    loses: () => random.chance(0.5),
  };
}
