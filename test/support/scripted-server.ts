import { type ChatCompletions, type Script, startChatCompletions } from "./chat-completions.ts";
import { startWorkerServer, type WorkerServer } from "./worker-server.ts";

/** A server with the model that it calls. */
export interface ScriptedServer {
  readonly server: WorkerServer;
  readonly endpoint: ChatCompletions;
  stop(): Promise<void>;
}

export async function startScriptedServer(script?: Script): Promise<ScriptedServer> {
  const endpoint = await startChatCompletions(script);
  try {
    const server = await startWorkerServer({
      MODEL: "openai-compatible:test-model",
      MODEL_BASE_URL: endpoint.url,
    });
    const stop = () => server.stop().then(() => endpoint.down());
    return { server, endpoint, stop };
  } catch (error) {
    await endpoint.down();
    throw error;
  }
}
