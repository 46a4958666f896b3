import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { askForFact } from "../support/long-facts.ts";
import { samples } from "../support/slow.ts";

const TURNS = 500;
const SEEDS = samples(100);

it("finds a fact of turn 3 in one call after 500 turns, in a prompt within the budget", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { isFound, isInPrompt, chars } = await askForFact(seed, TURNS);
    expect({ seed, isFound, isInPrompt }).toEqual({ seed, isFound: true, isInPrompt: false });
    expect(chars).toBeLessThanOrEqual(limits.historyChars);
  }
});
