/**
 * Compares the engine with the slow second implementation in `test/support` on random texts, cut at
 * random places. `npm run fuzz -- [COUNT] [FIRST SEED]`; prints the seed of the first difference.
 */
import { firstDifference } from "../test/support/fuzz.ts";

const count = Number(process.argv[2] ?? 10_000_000);
const firstSeed = Number(process.argv[3] ?? 1);
const step = 100_000;

for (let done = 0; done < count; done += step) {
  const difference = await firstDifference(firstSeed + done, Math.min(step, count - done));
  if (difference !== undefined) {
    console.error(JSON.stringify(difference, null, 2));
    process.exit(1);
  }
  const percent = ((Math.min(done + step, count) / count) * 100).toFixed(0);
  process.stdout.write(
    `\r${Math.min(done + step, count).toLocaleString("en")} texts equal (${percent} %)`,
  );
}
process.stdout.write("\n");
