import { Random } from "../chaos/random.ts";
import { isUnknown, type Outcome, compare } from "./checks.ts";
import { Broken } from "./client.ts";
import { samples } from "../support/slow.ts";
import { planFrom } from "./plan.ts";
import { type Disturbance, simulate, UNDISTURBED } from "./simulate.ts";

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

/** What happened in the conversations. */
interface Tally {
  readonly crashes: number;
  /** Number of turns; `failed` too. */
  readonly stopped: number;
  readonly failed: number;
  /** Calls with an unknown outcome. */
  readonly unknown: number;
}

/** Plays the conversations of these seeds. Throws an error that lists what broke. */
export async function simulateSeeds(first: number, count: number): Promise<Tally> {
  let tally: Tally = { crashes: 0, stopped: 0, failed: 0, unknown: 0 };
  const broken: string[] = [];
  for (let seed = first; seed < first + count; seed++) {
    try {
      tally = added(tally, await simulateSeed(seed));
    } catch (error) {
      broken.push(error instanceof Error ? error.message : String(error));
    }
  }
  if (broken.length === 0) return tally;
  const shown = broken.slice(0, MAX_SHOWN).join("\n");
  throw new Error(`${broken.length} of ${count} conversations are broken:\n${shown}`);
}

function added(tally: Tally, { crashes, messages }: Outcome): Tally {
  return {
    crashes: tally.crashes + crashes,
    stopped: tally.stopped + messages.filter(({ stopped }) => stopped).length,
    failed: tally.failed + messages.filter(({ error }) => error !== undefined).length,
    unknown: tally.unknown + messages.flatMap(({ parts }) => parts.filter(isUnknown)).length,
  };
}

/**
 * Plays the seed's conversation without and with crashes, and compares the outcomes. Errors name the seed.
 */
async function simulateSeed(seed: number): Promise<Outcome> {
  try {
    const random = new Random(seed);
    const plan = planFrom(random.fork());
    const expected = await simulate(plan, seed, UNDISTURBED);
    const actual = await simulate(plan, seed, disturbanceFrom(random, expected.waits));
    compare(actual, expected, plan);
    return actual;
  } catch (error) {
    const what = error instanceof Broken ? error.message : String(error);
    throw new Error(`Seed ${seed}: ${what}`, { cause: error });
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
