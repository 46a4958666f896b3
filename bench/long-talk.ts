/**
 * Measures the prompts of long conversations: `npm run bench -- long-talk`. After 500 mixed turns: the characters
 * of the last prompt, and whether one call finds a fact of turn 3. Runs in Node; the results do not depend on speed.
 * `--quick` asks a tenth.
 */
import * as limits from "../src/limits.ts";
import { askForFact } from "../test/support/long-facts.ts";
import { plainRow, report } from "./results.ts";
import { isQuick } from "./sides.ts";

const TURNS = 500;
const SEEDS = isQuick ? 10 : 100;

let longest = 0;
let missed = 0;
for (let seed = 1; seed <= SEEDS; seed++) {
  const { isFound, isInPrompt, chars } = await askForFact(seed, TURNS);
  longest = Math.max(longest, chars);
  if (!isFound || isInPrompt) missed++;
}
const row = (what: string, value: number, unit: string, goal: number) =>
  plainRow({ name: `${TURNS} turns of mixed work: ${what}`, value, unit }, goal);
report({
  rows: [
    row("messages of the last prompt", longest, "characters", limits.historyChars),
    row("facts of turn 3 that one call does not find", missed, `of ${SEEDS}`, 0),
  ],
});
