import { sampleStep } from "../support/slow.ts";
import { LONG_TEXT, NAMES, type Plan, type PlannedCall, type PlannedStep } from "./plan.ts";
import { disturbed } from "./seeds.ts";
import { type Disturbance, simulate } from "./simulate.ts";

const [FIRST, SECOND, THIRD] = NAMES;

/** Small conversations that together contain every kind of commit. */
export const CONVERSATIONS: Readonly<Record<string, Plan>> = {
  "a variable that grows beside tools of all kinds": planOf(
    stepOf("I do it.", [
      callOf("t0s0c0", "set_variable", { name: FIRST, value: ["second"], mode: "append" }),
      callOf("t0s0c1", "send", { gives: "small", about: "it" }),
      callOf("t0s0c2", "put", { gives: "small", about: "it" }),
    ]),
    stepOf(`It is {t0s0c2}.said, and $${FIRST}.`),
  ),
  "a result in the bucket, then one made of it": planOf(
    stepOf(undefined, [
      callOf("t0s0c0", "look", { gives: "bytes", about: "it" }),
      callOf("t0s0c1", "put", { gives: "list", about: "it" }),
    ]),
    stepOf(undefined, [
      callOf("t0s1c0", "send", { gives: "small", about: "it", of: "{t0s0c0}" }),
      callOf("t0s1c1", "delete_variable", { name: FIRST }),
    ]),
    stepOf("It is {t0s1c0}.said."),
  ),
  "a person who is asked twice": planOf(
    stepOf("May I?", [
      callOf("t0s0c0", "ask_put", { gives: "bytes", about: "it" }),
      callOf("t0s0c1", "ask_send", { gives: "small", about: "it", _outputPath: `$${SECOND}` }),
    ]),
    stepOf(`It is $${SECOND}.said.`),
  ),
  "calls that need each other's results": planOf(
    stepOf("I do it.", [
      callOf("t0s0c0", "look", { gives: "small", about: "it", of: `$${SECOND}.said` }),
      callOf("t0s0c1", "put", { gives: "small", about: "it", _outputPath: `$${THIRD}` }),
      callOf("t0s0c2", "set_variable", { name: SECOND, value: { said: `$${THIRD}.said` } }),
      callOf("t0s0c3", "send", { gives: "small", about: "it", of: `$${SECOND}` }),
      callOf("t0s0c4", "send", { gives: "small", about: "it" }),
    ]),
    stepOf(`It is {t0s0c3}.said, {t0s0c0}.said and $${SECOND}.said.`),
  ),
  "a person who is asked in the middle of such calls": planOf(
    stepOf("May I?", [
      callOf("t0s0c0", "put", { gives: "small", about: "it", _outputPath: `$${SECOND}` }),
      callOf("t0s0c1", "ask_put", {
        gives: "small",
        about: "it",
        of: `$${SECOND}.said`,
        _outputPath: `$${THIRD}`,
      }),
      callOf("t0s0c2", "send", { gives: "small", about: "it", of: `$${THIRD}.said` }),
    ]),
    stepOf(`It is {t0s0c2}.said.`),
  ),
};

/** A conversation whose log and message need more than one row, and whose results arrive in pieces. */
export const LONG_CONVERSATION = planOf(
  stepOf(`${LONG_TEXT}It follows.`, [
    callOf("t0s0c0", "put", { gives: "text stream", about: "it" }),
    callOf("t0s0c1", "look", { gives: "records stream", about: "it" }),
  ]),
  stepOf("Once more.", [
    callOf("t0s1c0", "look", { gives: "bytes stream", about: "it", of: "{t0s0c0}" }),
    callOf("t0s1c1", "put", { gives: "progress", about: "it", _outputPath: `$${SECOND}` }),
  ]),
  stepOf("It was {t0s0c1}."),
);

function planOf(...steps: readonly PlannedStep[]): Plan {
  return { turns: [{ steps, decidesOneByOne: true }] };
}

function stepOf(text: string | undefined, calls: readonly PlannedCall[] = []): PlannedStep {
  const said = text === undefined ? {} : { text };
  const deltaChars = text !== undefined && text.length > 1_000 ? 90_000 : 1_000;
  return { ...said, calls, hasSource: false, deltaChars, faults: [], isRaced: false };
}

function callOf(id: string, tool: PlannedCall["tool"], input: PlannedCall["input"]): PlannedCall {
  return { id, sentId: id.slice(-2), tool, input, isAllowed: true };
}

/** Crashes at these waits, each counted from the crash before. With `loses`, unconfirmed commits are lost. */
function crashesAt(places: readonly number[], loses: boolean): Disturbance {
  const left = [...places];
  let wait = 0;
  return {
    crashes: () => {
      if (wait++ !== left[0]) return false;
      left.shift();
      wait = 0;
      return true;
    },
    loses: () => loses,
  };
}

const SEED = 1;

/**
 * Stops a turn at every possible place and crashes that many waits later. A shortened run tries one of the numbers at
 * each place, in turns. Returns the number of conversations played.
 */
export async function exhaustStops(plan: Plan, crashesAfter: readonly number[]): Promise<number> {
  const expected = await simulate(plan, SEED);
  let runs = 0;
  const run = async (place: number, untilCrash: number): Promise<boolean> => {
    let untilStop = place;
    let left = untilCrash;
    runs++;
    const how = `A stop at ${place}, a crash ${untilCrash} later`;
    const disturbance = {
      stops: () => untilStop-- === 0,
      crashes: () => untilStop < 0 && left-- === 0,
      loses: () => place % 2 === 0,
    };
    await disturbed({ plan, seed: SEED, expected, disturbance, how });
    return untilStop < 0;
  };
  for (const [index, untilCrash] of crashesAfter.entries()) {
    const step = sampleStep === 1 ? 1 : crashesAfter.length;
    for (let place = index % step; await run(place, untilCrash);) place += step;
  }
  return runs;
}

/** Tries one in this many pairs of crashes. `PAIR_STEP=1 npm run test:all` tries all. */
const STEP = Number(process.env.PAIR_STEP ?? 5 * sampleStep);

/**
 * Crashes once at every wait, or in pairs of waits. A shortened run loses unconfirmed commits at every other wait.
 * Returns the number of conversations played.
 */
export async function exhaust(plan: Plan, withPairs: boolean): Promise<number> {
  const expected = await simulate(plan, SEED);
  let runs = 0;
  /** True if there were as many crashes as places. */
  const run = async (places: readonly number[], loses: boolean): Promise<boolean> => {
    runs++;
    const how = `Crashes at ${places.join(", ")}, lost: ${loses}`;
    const disturbance = crashesAt(places, loses);
    const { crashes } = await disturbed({ plan, seed: SEED, expected, disturbance, how });
    return crashes === places.length;
  };
  for (let first = 0; await run([first], first % 2 === 0); first++) {
    if (sampleStep === 1) await run([first], first % 2 !== 0);
    if (!withPairs) continue;
    for (let second = first % STEP; await run([first, second], (first + second) % 2 === 0);) {
      second += STEP;
    }
  }
  return runs;
}
