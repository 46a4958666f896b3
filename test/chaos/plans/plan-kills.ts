import type { IncomingMessage } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { PlanView } from "../../../packages/plans/src/http/plan-view.ts";
import { startLoopback } from "../../support/loopback.ts";
import { bundleWorker, type ChaosWorker, startWorker } from "../worker.ts";

/** When the server is killed during a call: its tool was called, did its work, or answered. */
export const stages = ["asked", "done", "answered"] as const;
type Stage = (typeof stages)[number];

export interface Kill {
  readonly call: string;
  readonly stage: Stage;
}

/** Ten calls, in sequence and in parallel. None depends on a payment. */
export const calls = [
  callOf("c1", "look"),
  callOf("c2", "write", ["c1"]),
  callOf("c3", "look", ["c1"]),
  callOf("c4", "pay", ["c1"]),
  callOf("c5", "write", ["c2", "c3"]),
  callOf("c6", "look", ["c5"]),
  callOf("c7", "pay", ["c6"]),
  callOf("c8", "write", ["c6"]),
  callOf("c9", "look", ["c6", "c8"]),
  callOf("c10", "write", ["c9"]),
];

function callOf(id: string, tool: "look" | "write" | "pay", reads: readonly string[] = []) {
  const from = reads.length === 0 ? {} : { from: reads.map((read) => `†state.${read}`) };
  return { _tool: tool, _id: id, call: id, ...from, _outputPath: `†state.${id}` };
}

/** The world of the tools. Counts their work and kills the server at given stages of calls. */
export class PlanKills {
  /** The keys with which a call's tool has worked, one for each time, by call. */
  readonly work = new Map<string, string[]>();
  readonly #stateDir: string;
  readonly #options: string;
  readonly #close: () => Promise<void>;
  #kills: Kill[] = [];
  #server: ChaosWorker | undefined;
  #killing: Promise<void> | undefined;

  static async open(stateDir: string): Promise<PlanKills> {
    const { url: WORLD_URL, down } = await startLoopback(async (request, response) => {
      response.end(await kills.#answer(request));
    });
    const options = await bundleWorker(stateDir, {
      config: "test/chaos/plans/wrangler.toml",
      bindings: { AUTH: "none", WORLD_URL },
    });
    const kills = new PlanKills(stateDir, options, down);
    return kills;
  }

  private constructor(stateDir: string, options: string, close: () => Promise<void>) {
    this.#stateDir = stateDir;
    this.#options = options;
    this.#close = close;
  }

  async close(): Promise<void> {
    await this.#server?.kill();
    await this.#close();
  }

  /** Runs the plan in the conversation, kills the server at each given stage, and returns the ended plan. */
  async run(conversation: string, kills: readonly Kill[]): Promise<PlanView> {
    this.#kills = [...kills];
    this.work.clear();
    const root = `/conversations/${conversation}/plans`;
    const { id } = (await this.#call("POST", root, { calls })) as PlanView;
    const running = this.#call("POST", `${root}/${id}/run`, {});
    return this.#until(running, async () => {
      const plan = (await this.#call("GET", `${root}/${id}`)) as PlanView;
      return plan.status !== "running" && plan.runs.length > 0 ? plan : undefined;
    });
  }

  /** Polls until there is a result. The request that began the work may have been cut off. */
  async #until<Result>(
    request: Promise<unknown>,
    ask: () => Promise<Result | undefined>,
  ): Promise<Result> {
    const begun = request.catch(() => undefined);
    for (;;) {
      await this.#killing;
      const result = await ask().catch(() => undefined);
      if (result === undefined) {
        await sleep(20);
        continue;
      }
      await begun;
      if (this.#kills.length > 0) throw new Error(`Not killed: ${JSON.stringify(this.#kills)}`);
      return result;
    }
  }

  async #call(method: string, path: string, given?: object): Promise<unknown> {
    this.#server ??= await startWorker(this.#stateDir, this.#options);
    const response = await fetch(`${this.#server.url}${path}`, {
      method,
      headers: { accept: "application/json", "content-type": "application/json" },
      ...(given === undefined ? {} : { body: JSON.stringify(given) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response.json();
  }

  async #answer(request: IncomingMessage): Promise<string> {
    // Written by the tools in `worker.ts`.
    const { call, key } = JSON.parse(await textOf(request)) as { call: string; key: string };
    await this.#reached({ call, stage: "asked" });
    this.work.set(call, [...(this.work.get(call) ?? []), key]);
    await this.#reached({ call, stage: "done" });
    setImmediate(() => void this.#reached({ call, stage: "answered" }));
    return `did ${call}`;
  }

  async #reached({ call, stage }: Kill): Promise<void> {
    const [next] = this.#kills;
    if (next?.call !== call || next.stage !== stage) return;
    this.#kills.shift();
    this.#killing = this.#restart();
    await this.#killing;
  }

  async #restart(): Promise<void> {
    await this.#server?.kill();
    this.#server = await startWorker(this.#stateDir, this.#options);
  }
}
