/**
 * Runs the reference engine on random texts, cut at random places, and exits 1 with the seed of the first
 * fault. `npm run fuzz -- [COUNT] [FIRST SEED]` compares it with the slow second implementation in
 * `test/support`; `npm run fuzz -- urls [COUNT] [FIRST SEED]` searches for values in the URLs that Markdown
 * renderers make of answers.
 */
import { firstDifference } from "../test/support/fuzz.ts";
import { leakingTexts } from "../test/support/url-fuzz.ts";

const isOfUrls = process.argv[2] === "urls";
const [wantedCount, wantedSeed] = process.argv.slice(isOfUrls ? 3 : 2);
const count = Number(wantedCount ?? (isOfUrls ? 1_000_000 : 10_000_000));
const firstSeed = Number(wantedSeed ?? 1);
const step = isOfUrls ? 1_000 : 100_000;
const firstFault = isOfUrls
  ? (seed: number, texts: number) => leakingTexts(seed, texts).next().value
  : firstDifference;

for (let done = 0; done < count; done += step) {
  const fault = await firstFault(firstSeed + done, Math.min(step, count - done));
  if (fault !== undefined) {
    console.error(JSON.stringify(fault, null, 2));
    process.exit(1);
  }
  const percent = ((Math.min(done + step, count) / count) * 100).toFixed(0);
  process.stdout.write(
    `\r${Math.min(done + step, count).toLocaleString("en")} texts without a fault (${percent} %)`,
  );
}
process.stdout.write("\n");
