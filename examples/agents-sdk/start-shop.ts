import { type ModelServer, startModel } from "./model-server.ts";
import { charsOf, QUESTIONS } from "./script.ts";
import { talkTo } from "./talk.ts";

export interface Shop {
  readonly model: ModelServer;
  readonly origin: string;
  stop(): Promise<void>;
}

/** `unstable_startWorker` of the example's own wrangler. */
type StartWorker = (options: {
  readonly config: string;
  readonly entrypoint: string;
  readonly bindings: Record<string, { type: "plain_text"; value: string }>;
  readonly dev: { logLevel: "error"; server: { port: number }; inspector: false; persist: false };
}) => Promise<{
  readonly ready: Promise<void>;
  readonly url: Promise<URL>;
  dispose(): Promise<void>;
}>;

/** Starts an agent on workerd with the scripted model, on any free port. */
export async function startShop(startWorker: StartWorker, entrypoint: string): Promise<Shop> {
  const model = await startModel();
  const worker = await startWorker({
    config: "wrangler.toml",
    entrypoint,
    bindings: { MODEL_BASE_URL: { type: "plain_text", value: model.url } },
    dev: { logLevel: "error", server: { port: 0 }, inspector: false, persist: false },
  });
  await worker.ready;
  const stop = async () => {
    model.close();
    await worker.dispose();
  };
  return { model, origin: (await worker.url).origin, stop };
}

/** Asks the agent two questions, and prints what its model writes and what a person sees. */
export async function showTalk({ model, origin }: Shop, agent: string): Promise<void> {
  const talk = await talkTo(`${origin}/agents/${agent}/first`);
  for (const question of QUESTIONS.slice(0, 2)) {
    console.log(`\nperson        ${question}`);
    const before = model.written.length;
    const answer = await talk.ask(question);
    for (const text of model.written.slice(before)) console.log(`model writes  ${text}`);
    console.log(`person sees   ${answer}`);
  }
  console.log(`\n${model.prompts.length} calls of the model, ${charsOf(model.prompts)} characters`);
  talk.close();
}
