import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
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

const WORKFLOW = readFileSync(
  join(import.meta.dirname, "../../cases/workflows/summary.xml"),
  "utf8",
);

/** The workflow's calls to the tools of this world, in the order in which they are written. */
export const workflowCalls = [
  "memory_recall professional experience",
  "memory_recall skills",
  "web_generate",
  "filesystem_write",
] as const;

/** The world of the tools. Counts their work and kills the server at given stages of calls. */
export class PlanKills {
  /** The keys with which a call's tool has worked, one for each time, by call. */
  readonly work = new Map<string, string[]>();
  /** The input of the latest try, by call. */
  readonly inputs = new Map<string, unknown>();
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
    const options = bundleWorker(stateDir, {
      config: "test/chaos/plans/wrangler.toml",
      bindings: { AUTH: "none", WORLD_URL, WORKFLOW },
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
  run(conversation: string, kills: readonly Kill[]): Promise<PlanView> {
    const body = { type: "application/json", text: JSON.stringify({ calls }) };
    return this.runPlan(conversation, body, kills);
  }

  /** Runs the workflow as a plan, without kills. */
  runWorkflow(conversation: string): Promise<PlanView> {
    const body = { type: "application/xml", text: WORKFLOW, query: "?agent=writer" };
    return this.runPlan(conversation, body, []);
  }

  /**
   * Lets the model write the workflow in an answer, kills the server at each given stage, and returns the
   * variables.
   */
  async answer(conversation: string, kills: readonly Kill[]): Promise<Record<string, unknown>> {
    this.#expect(kills);
    const root = `/conversations/${conversation}`;
    const message = { id: "question", role: "user", parts: [{ type: "text", text: "Summarize." }] };
    const asking = this.#call("POST", `${root}/messages`, { agent: "writer", message });
    await this.#until(asking, async () => {
      const { messages } = (await this.#call("GET", `${root}/messages`)) as { messages: unknown[] };
      return messages.length === 2 ? messages : undefined;
    });
    return this.variables(conversation);
  }

  /** Returns the values of a conversation's variables, by name. */
  async variables(conversation: string): Promise<Record<string, unknown>> {
    const root = `/conversations/${conversation}/variables`;
    const { variables } = (await this.#call("GET", root)) as {
      variables: readonly { readonly name: string }[];
    };
    const values = variables.map(async ({ name }) => {
      return [name, await this.#call("GET", `${root}/${name}`)] as const;
    });
    return Object.fromEntries(await Promise.all(values));
  }

  /** Runs a plan of any format, kills the server at each given stage, and returns the ended plan. */
  async runPlan(
    conversation: string,
    { query = "", ...body }: Body & { readonly query?: string },
    kills: readonly Kill[],
  ): Promise<PlanView> {
    this.#expect(kills);
    const root = `/conversations/${conversation}/plans`;
    const { id } = (await this.#call("POST", root + query, body)) as PlanView;
    const running = this.#call("POST", `${root}/${id}/run`, {});
    return this.#until(running, async () => {
      const plan = (await this.#call("GET", `${root}/${id}`)) as PlanView;
      return plan.status !== "running" && plan.runs.length > 0 ? plan : undefined;
    });
  }

  #expect(kills: readonly Kill[]): void {
    this.#kills = [...kills];
    this.work.clear();
    this.inputs.clear();
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
    const body: Body | undefined =
      given === undefined || "type" in given
        ? (given as Body | undefined)
        : { type: "application/json", text: JSON.stringify(given) };
    const response = await fetch(`${this.#server.url}${path}`, {
      method,
      headers: { accept: "application/json", "content-type": body?.type ?? "application/json" },
      ...(body === undefined ? {} : { body: body.text }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response.json();
  }

  async #answer(request: IncomingMessage): Promise<string> {
    // Written by the tools in `worker.ts`.
    const { key, ...input } = JSON.parse(await textOf(request)) as { call: string; key: string };
    const { call } = input;
    this.inputs.set(call, input);
    await this.#reached({ call, stage: "asked" });
    this.work.set(call, [...(this.work.get(call) ?? []), key]);
    await this.#reached({ call, stage: "done" });
    setImmediate(() => void this.#reached({ call, stage: "answered" }));
    return didIn(call);
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

/** Returns what a call did. For calls named `large…`, that is more text than an output shows in full. */
export function didIn(call: string): string {
  return call.startsWith("large") ? `did ${call} `.padEnd(2_000, "x") : `did ${call}`;
}

interface Body {
  readonly type: string;
  readonly text: string;
}
