/**
 * Runs the reference engine on random texts, cut at random places, and exits 1 with the seed of the first
 * fault. `npm run fuzz -- [COUNT] [FIRST SEED]` compares it with the slow second implementation in
 * `test/support`; `npm run fuzz -- urls [COUNT] [FIRST SEED]` searches for values in the URLs that Markdown
 * renderers make of answers; `npm run fuzz -- sql [COUNT] [FIRST SEED]` runs statements as a model, without any check
 * of them, and searches for values that the model must not see.
 */
import { firstDifference } from "../test/support/fuzz.ts";
import { leakingStatements } from "../test/support/sql-fuzz.ts";
import { leakingTexts } from "../test/support/url-fuzz.ts";

/** What is tried: how many by default, how many at a time, and the first fault in some of them. */
const KINDS = {
  texts: { count: 10_000_000, step: 100_000, firstFault: firstDifference },
  urls: {
    count: 1_000_000,
    step: 1_000,
    firstFault: (seed: number, count: number) => leakingTexts(seed, count).next().value,
  },
  sql: {
    count: 1_000_000,
    step: 10_000,
    firstFault: async (seed: number, count: number) =>
      (await leakingStatements(seed, count).next()).value,
  },
};

const [given] = process.argv.slice(2);
const isNamed = given === "urls" || given === "sql";
const [wantedCount, wantedSeed] = process.argv.slice(isNamed ? 3 : 2);
const { step, firstFault, ...kind } = KINDS[isNamed ? given : "texts"];
const count = Number(wantedCount ?? kind.count);
const firstSeed = Number(wantedSeed ?? 1);

for (let done = 0; done < count; done += step) {
  const fault = await firstFault(firstSeed + done, Math.min(step, count - done));
  if (fault !== undefined) {
    console.error(JSON.stringify(fault, null, 2));
    process.exit(1);
  }
  const tried = Math.min(done + step, count);
  const percent = ((tried / count) * 100).toFixed(0);
  process.stdout.write(`\r${tried.toLocaleString("en")} texts without a fault (${percent} %)`);
}
process.stdout.write("\n");
