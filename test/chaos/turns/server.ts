import { bundleWorker, type ChaosWorker, startWorker } from "../worker.ts";
import { Gate } from "./gate.ts";

/** The server under test, killed and restarted on the same state. Clients reach it through the gate. */
export class Server {
  readonly gate = new Gate();
  readonly stateDir: string;
  readonly #options: Promise<string>;
  #worker: ChaosWorker | undefined;
  #killing: Promise<void> = Promise.resolve();
  #startedMs = 0;

  constructor(stateDir: string, worldUrl: string) {
    this.stateDir = stateDir;
    const bindings = {
      AUTH: "none",
      MODEL: "openai-compatible:scripted",
      MODEL_BASE_URL: `${worldUrl}/v1`,
      MODEL_API_KEY: "sk-chaos",
      WORLD_URL: worldUrl,
    };
    const config = "test/chaos/turns/wrangler.toml";
    this.#options = bundleWorker(stateDir, { config, bindings });
  }

  /** Starts the server. Clients cannot reach it until `openGate`. */
  async start(): Promise<void> {
    await this.#killing;
    const options = await this.#options;
    this.#startedMs = performance.now();
    this.#worker = await startWorker(this.stateDir, options);
  }

  /** When the process started, and when its port opened. */
  get times(): { readonly startedMs: number; readonly listensMs: number } {
    return {
      startedMs: this.#startedMs,
      listensMs: this.#startedMs + (this.#worker?.startMs ?? 0),
    };
  }

  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  openGate(): void {
    if (this.#worker !== undefined) this.gate.open(this.#worker.url);
  }

  /** Sends the signal before it returns; resolves when no process is left. */
  kill(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    this.gate.close();
    if (worker !== undefined) this.#killing = worker.kill();
    return this.#killing;
  }
}
