import { unstable_startWorker as startWorker } from "wrangler";
import { type ModelServer, startModel } from "../agents-sdk/model-server.ts";

export interface Shop {
  readonly model: ModelServer;
  readonly origin: string;
  stop(): Promise<void>;
}

/** Starts an agent on workerd with the scripted model, on any free port. */
export async function startShop(entrypoint: string): Promise<Shop> {
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
