/**
 * Kills a server once in each of 1,000 plans of 50 parallel calls, and measures how long a plan takes to resume by
 * itself, from the open port to the first call of a tool, while no client sends a request: `npm run bench --
 * plan-kills`. SIGKILL ends all processes of the server (Node, Miniflare and workerd) at once. Four servers run
 * beside each other, each on its own state. `--quick` kills 20 times.
 */
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { PlanView } from "../src/edge/plans/plan-view.ts";
import { Random } from "../test/chaos/random.ts";
import { bundleWorker, type ChaosWorker, startWorker } from "../test/chaos/worker.ts";
import { startLoopback } from "../test/support/loopback.ts";
import { plainRow, report } from "./results.ts";
import { isQuick } from "./sides.ts";
import { quantile } from "./statistics.ts";

const KILLS = isQuick ? 20 : 1_000;
/** Most of the time goes into starting a server again. */
const SERVERS = 4;
const CALLS = 50;
/** Duration of a tool call, so that calls are in progress when the server is killed. */
const TOOL_MS = 100;
const SETTLED_MS = 50;
const SLOWEST_RECOVERY_MS = 20_000;
const GOAL_MS = 300;

const inputs = Array.from({ length: CALLS }, (_, index) => `c${index}`);
const plan = inputs.map((call) => ({ _tool: "look", _id: call, call }));

/** The server that the tool of `test/chaos/plans/worker.ts` calls. */
class World {
  /** Start time of each tool call since `forget`. */
  #begunMs: number[] = [];
  #onBegun: () => void = () => undefined;

  async answer(request: IncomingMessage): Promise<string> {
    // Written by the tool.
    const { call } = JSON.parse(await textOf(request)) as { readonly call: string };
    this.#begunMs.push(performance.now());
    this.#onBegun();
    await sleep(TOOL_MS);
    return `did ${call}`;
  }

  forget(): void {
    this.#begunMs = [];
  }

  /** Resolves with the time of the first call, once this number of calls have begun. */
  async untilBegun(count: number): Promise<number> {
    while (this.#begunMs.length < count) {
      const next = new Promise<void>((resolve) => {
        this.#onBegun = resolve;
      });
      const isLate = await Promise.race([next, sleep(SLOWEST_RECOVERY_MS, true)]);
      if (isLate === true) throw new Error(`${this.#begunMs.length} of ${count} calls have begun.`);
    }
    return this.#begunMs[0] ?? Number.NaN;
  }
}

/** Kills a server in this number of plans. Returns the duration of each recovery. */
async function killPlans(kills: number, random: Random): Promise<readonly number[]> {
  const stateDir = mkdtempSync(join(tmpdir(), "byref-bench-kills-"));
  const world = new World();
  const loopback = await startLoopback(async (request, response) => {
    response.end(await world.answer(request));
  });
  const options = bundleWorker(stateDir, {
    config: "test/chaos/plans/wrangler.toml",
    bindings: { AUTH: "none", WORLD_URL: loopback.url, WORKFLOW: "" },
  });
  let server = await startWorker(stateDir, options);
  const recoveredMs: number[] = [];
  try {
    for (let kill = 0; kill < kills; kill++) {
      const path = await runPlan(server, `plan${kill}`, world);
      await world.untilBegun(random.between(1, CALLS));
      await server.kill();
      // Anything that the dead server has sent arrives before its successor's calls.
      await sleep(SETTLED_MS);
      world.forget();
      server = await startWorker(stateDir, options);
      const listensMs = performance.now();
      recoveredMs.push(Math.max(0, (await world.untilBegun(1)) - listensMs));
      await requireDone(server, path);
    }
  } finally {
    await server.kill();
    await loopback.down();
    rmSync(stateDir, { recursive: true, force: true });
  }
  return recoveredMs;
}

/** Returns the path of the plan, without waiting for its end. */
async function runPlan(server: ChaosWorker, name: string, world: World): Promise<string> {
  const { id } = (await ask(server, `${name}/plans`, { calls: plan })) as PlanView;
  world.forget();
  void ask(server, `${name}/plans/${id}/run`, {}).catch(() => undefined);
  return `${name}/plans/${id}`;
}

async function requireDone(server: ChaosWorker, path: string): Promise<void> {
  for (;;) {
    const { status, calls } = (await ask(server, path)) as PlanView;
    const open = calls.filter((call) => call.status !== "done");
    if (status === "running") await sleep(50);
    else if (open.length === 0 && calls.length === CALLS) return;
    else throw new Error(`${path}: ${status}; not done: ${JSON.stringify(open)}`);
  }
}

/** Posts the body, if there is one. */
async function ask({ url }: ChaosWorker, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${url}/conversations/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { accept: "application/json", "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return response.json();
}

const servers = Array.from({ length: SERVERS }, (_, index) =>
  killPlans(KILLS / SERVERS, new Random(7 + index)),
);
const sorted = (await Promise.all(servers)).flat().toSorted((a, b) => a - b);
const name = `${KILLS.toLocaleString("en-US")} kills in plans of ${CALLS} parallel calls`;
const median = { name: `${name}: open port to recovered, median`, value: quantile(sorted, 0.5) };
const worst = {
  name: `${name}: open port to recovered, worst`,
  value: sorted.at(-1) ?? Number.NaN,
};
report({
  rows: [plainRow({ ...median, unit: "ms" }, GOAL_MS), plainRow({ ...worst, unit: "ms" })],
});
