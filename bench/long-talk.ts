/**
 * Measures the prompts of long conversations: `npm run bench -- long-talk`. After 500 mixed turns: the characters
 * of the last prompt, and whether one call finds a fact of turn 3. Over 50 mixed turns: the share of each prompt
 * that was not in the prompt before. Runs in Node; the results do not depend on speed. `--quick` asks a tenth.
 */
import * as limits from "../src/limits.ts";
import { askForFact } from "../test/support/long-facts.ts";
import { mixedRequests, newChars } from "../test/support/mixed-talk.ts";
import { plainRow, report } from "./results.ts";
import { isQuick } from "./sides.ts";

const TURNS = 500;
const SEEDS = isQuick ? 10 : 100;
const SHORT_TURNS = 50;

let longest = 0;
let missed = 0;
for (let seed = 1; seed <= SEEDS; seed++) {
  const { isFound, isInPrompt, chars } = await askForFact(seed, TURNS);
  longest = Math.max(longest, chars);
  if (!isFound || isInPrompt) missed++;
}
const requests = await mixedRequests(SHORT_TURNS);
const all = requests.reduce((sum, { length }) => sum + length, 0);
const mixed = `${TURNS} turns of mixed work`;
report({
  rows: [
    plainRow(
      { name: `${mixed}: messages of the last prompt`, value: longest, unit: "characters" },
      limits.historyChars,
    ),
    plainRow(
      {
        name: `${mixed}: facts of turn 3 that one call does not find`,
        value: missed,
        unit: `of ${SEEDS}`,
      },
      0,
    ),
    plainRow({
      name: `${SHORT_TURNS} turns of mixed work: what the request before does not begin with`,
      value: newChars(requests) / all,
      unit: "of all characters",
    }),
  ],
});
