/**
 * Starts the agent on workerd with the scripted model, and asks it two questions: `npm start`. `npm run page` then
 * shows them in a browser.
 */
import { once } from "node:events";
import { charsOf, QUESTIONS } from "../agents-sdk/script.ts";
import { talkTo } from "../agents-sdk/talk.ts";
import { startShop } from "./start-shop.ts";

const { model, origin, stop } = await startShop("chat.ts");
try {
  const talk = await talkTo(`${origin}/agents/chat/first`);
  for (const question of QUESTIONS.slice(0, 2)) {
    console.log(`\nperson        ${question}`);
    const before = model.written.length;
    const answer = await talk.ask(question);
    for (const text of model.written.slice(before)) console.log(`model writes  ${text}`);
    console.log(`person sees   ${answer}`);
  }
  console.log(`\n${model.prompts.length} calls of the model, ${charsOf(model.prompts)} characters`);
  talk.close();
  if (process.argv.includes("--page")) {
    console.log(`\n${origin} shows this conversation, until Ctrl+C.`);
    await once(process, "SIGINT");
  }
} finally {
  await stop();
}
