/**
 * Kills a server once in each of 1,000 plans of 50 parallel calls, and measures how long a plan takes to resume by
 * itself, from the open port to the first call of a tool, while no client sends a request: `npm run bench --
 * plan-kills`. SIGKILL ends all processes of the server (Node, Miniflare and workerd) at once. `--quick` kills 20
 * times.
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
const CALLS = 50;
/** Duration of a tool call, so that calls are in progress when the server is killed. */
const TOOL_MS = 100;
const SETTLED_MS = 50;
const SLOWEST_RECOVERY_MS = 20_000;
const GOAL_MS = 300;

const random = new Random(7);
const stateDir = mkdtempSync(join(tmpdir(), "byref-bench-kills-"));
const inputs = Array.from({ length: CALLS }, (_, index) => `c${index}`);
const plan = inputs.map((call) => ({ _tool: "look", _id: call, call }));

/** Start time of each tool call since the server started. */
let begunMs: number[] = [];
let onBegun: () => void = () => undefined;

async function answerTool(request: IncomingMessage): Promise<string> {
  // Written by the tool of `test/chaos/plans/worker.ts`.
  const { call } = JSON.parse(await textOf(request)) as { readonly call: string };
  begunMs.push(performance.now());
  onBegun();
  await sleep(TOOL_MS);
  return `did ${call}`;
}

/** Resolves with the time of the first call, once this number of calls have begun since the server started. */
async function untilBegun(count: number): Promise<number> {
  while (begunMs.length < count) {
    const next = new Promise<void>((resolve) => {
      onBegun = resolve;
    });
    const isLate = await Promise.race([next, sleep(SLOWEST_RECOVERY_MS, true)]);
    if (isLate === true) throw new Error(`${begunMs.length} of ${count} calls have begun.`);
  }
  return begunMs[0] ?? Number.NaN;
}

const world = await startLoopback(async (request, response) => {
  response.end(await answerTool(request));
});
const options = bundleWorker(stateDir, {
  config: "test/chaos/plans/wrangler.toml",
  bindings: { AUTH: "none", WORLD_URL: world.url, WORKFLOW: "" },
});
let server: ChaosWorker = await startWorker(stateDir, options);

async function ask(method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${server.url}/conversations/${path}`, {
    method,
    headers: { accept: "application/json", "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return response.json();
}

/** Kills the server while a plan runs, waits for the end of the plan, and returns the duration of the recovery. */
async function killInPlan(name: string): Promise<number> {
  const { id } = (await ask("POST", `${name}/plans`, { calls: plan })) as PlanView;
  begunMs = [];
  void ask("POST", `${name}/plans/${id}/run`, {}).catch(() => undefined);
  await untilBegun(random.between(1, CALLS));
  await server.kill();
  // Anything that the dead server has sent arrives before its successor's calls.
  await sleep(SETTLED_MS);
  begunMs = [];
  server = await startWorker(stateDir, options);
  const listensMs = performance.now();
  const recoveredMs = Math.max(0, (await untilBegun(1)) - listensMs);
  await requireDone(`${name}/plans/${id}`);
  return recoveredMs;
}

async function requireDone(path: string): Promise<void> {
  for (;;) {
    const { status, calls } = (await ask("GET", path)) as PlanView;
    const open = calls.filter((call) => call.status !== "done");
    if (status === "running") await sleep(50);
    else if (open.length === 0 && calls.length === CALLS) return;
    else throw new Error(`${path}: ${status}; not done: ${JSON.stringify(open)}`);
  }
}

try {
  const recoveredMs: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) recoveredMs.push(await killInPlan(`plan${kill}`));
  const sorted = recoveredMs.toSorted((a, b) => a - b);
  const name = `${KILLS.toLocaleString("en-US")} kills in plans of ${CALLS} parallel calls`;
  const median = quantile(sorted, 0.5);
  const worst = sorted.at(-1) ?? Number.NaN;
  report({
    rows: [
      plainRow(
        { name: `${name}: open port to recovered, median`, value: median, unit: "ms" },
        GOAL_MS,
      ),
      plainRow({ name: `${name}: open port to recovered, worst`, value: worst, unit: "ms" }),
    ],
  });
} finally {
  await server.kill();
  await world.down();
  rmSync(stateDir, { recursive: true, force: true });
}
