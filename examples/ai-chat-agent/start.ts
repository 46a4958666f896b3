/** Starts the agent on workerd with the scripted model, and asks it a question: `npm start`. */
import { unstable_startWorker as startWorker } from "wrangler";
import { startModel } from "../agents-sdk/model-server.ts";
import { charsOf, QUESTIONS } from "../agents-sdk/script.ts";
import { talkTo } from "../agents-sdk/talk.ts";

const model = await startModel();
const worker = await startWorker({
  config: "wrangler.toml",
  bindings: { MODEL_BASE_URL: { type: "plain_text", value: model.url } },
  dev: { logLevel: "error", server: { port: 0 }, inspector: false, persist: false },
});
try {
  const { origin } = await worker.url;
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
} finally {
  model.close();
  await worker.dispose();
}
