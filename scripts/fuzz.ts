/**
 * Tries random texts, and exits 1 with the seed of the first fault. `npm run fuzz -- urls [COUNT] [FIRST SEED]`, the
 * default, searches for values in the URLs that Markdown renderers make of answers; `npm run fuzz -- sql [COUNT]
 * [FIRST SEED]` runs statements as a model, without any check of them, and searches for values that the model must not
 * see.
 */
import { leakingStatements } from "../test/support/sql-fuzz.ts";
import { leakingTexts } from "../test/support/url-fuzz.ts";

const [kind = "urls", count = 1_000_000, firstSeed = 1] = process.argv.slice(2);
const total = Number(count);
const isSql = kind === "sql";
const step = isSql ? 10_000 : 1_000;

for (let done = 0; done < total; done += step) {
  const tried = [Number(firstSeed) + done, Math.min(step, total - done)] as const;
  const leaks = isSql ? leakingStatements(...tried) : leakingTexts(...tried);
  const { value: fault } = await leaks.next();
  if (fault !== undefined) {
    console.error(JSON.stringify(fault, null, 2));
    process.exit(1);
  }
  const now = Math.min(done + step, total);
  const percent = ((now / total) * 100).toFixed(0);
  process.stdout.write(`\r${now.toLocaleString("en")} texts without a fault (${percent} %)`);
}
process.stdout.write("\n");
