/** Starts the agent on workerd with the scripted model, and asks it two questions: `npm start`. */
import { unstable_startWorker as startWorker } from "wrangler";
import { showTalk, startShop } from "../agents-sdk/start-shop.ts";

const shop = await startShop(startWorker, "thinker.ts");
try {
  await showTalk(shop, "thinker");
} finally {
  await shop.stop();
}
