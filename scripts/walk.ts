/**
 * Does random things in every view of the page and counts uncaught errors: `npm run walk`, or
 * `npm run walk -- ACTIONS SEED`. Uses a Worker with fresh state and the demo model.
 */
import { startBrowser } from "../test/support/browser.ts";
import { walkAtRandom } from "../test/support/random-walk.ts";
import { startDemoWorker } from "./local-worker.ts";

const ACTIONS = 5_000;
const [actions = ACTIONS, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number);

const browser = await startBrowser();
const worker = await startDemoWorker();
try {
  console.log(`${actions} actions with the seed ${seed}`);
  const opened = await browser.open(worker.url);
  const { errors, done } = await walkAtRandom(opened, {
    actions,
    seed,
    onProgress: (count) => console.log(`${count} done`),
  });
  console.log(done);
  for (const error of errors) console.error(`\n${error}`);
  console.log(`${errors.length} uncaught errors`);
  if (errors.length > 0) process.exitCode = 1;
} finally {
  await browser.stop();
  await worker.stop();
}
