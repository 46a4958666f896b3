/**
 * Starts the agent on workerd with the scripted model, and asks it two questions: `npm start`. `npm run page` then
 * shows them in a browser.
 */
import { once } from "node:events";
import { unstable_startWorker as startWorker } from "wrangler";
import { showTalk, startShop } from "../agents-sdk/start-shop.ts";

const shop = await startShop(startWorker, "chat.ts");
try {
  await showTalk(shop, "chat");
  if (process.argv.includes("--page")) {
    console.log(`\n${shop.origin} shows this conversation, until Ctrl+C.`);
    await once(process, "SIGINT");
  }
} finally {
  await shop.stop();
}
