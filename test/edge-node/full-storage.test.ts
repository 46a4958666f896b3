import { tool } from "ai";
import { beforeEach, expect, it, vi } from "vitest";
import * as z from "zod";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import { json } from "../support/edge.ts";
import { NodeRuntime } from "../support/node-runtime.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
/** Hangs, so that its run or turn is open when the process dies. */
const hang = tool({ inputSchema: z.object({}), execute: () => new Promise<string>(() => {}) });
const orders = tool({ inputSchema: z.object({}), execute: () => [{ id: 1 }, { id: 2 }] });

const BASE = "/conversations/c";
const VALUE = "/variables/orders_1";
const LISTS = ["", "/messages", "/variables", "/events", "/plans", "/export"];
const ROUTES = [...LISTS, VALUE, `${VALUE}?path=[0].id`, `${VALUE}/info`];

/** From now on, every statement that needs space fails. */
function fill(runtime: NodeRuntime): void {
  const { sql } = runtime.objectOf("c");
  const all = sql.all.bind(sql);
  vi.spyOn(sql, "all").mockImplementation((sent, ...bindings) => {
    if (!/^\s*(?:SELECT|WITH|CREATE \w+ IF NOT EXISTS)/iu.test(sent)) {
      throw new Error("database or disk is full: SQLITE_FULL");
    }
    return all(sent, ...bindings);
  });
}

function runtimeWith(calls: "turn" | "run"): NodeRuntime {
  const last = calls === "turn" ? [toolCall("hang", {}), finish("tool-calls")] : [text("Bye.")];
  return new NodeRuntime({
    agents: [
      {
        name: "a",
        description: "",
        instructions: "",
        tools: { orders, hang },
        effects: { hang: "none", orders: "none" },
        approvesPlan: () => true,
      },
    ],
    model: scriptedModel([
      [toolCall("orders", {}), finish("tool-calls")],
      [text("Done."), finish()],
      last,
    ]),
    plans: planSupport(),
    transfer: transfers,
  });
}

async function statuses(runtime: NodeRuntime): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const route of ROUTES) {
    const response = await runtime.ask("GET", BASE + route);
    await response.text();
    found[route] = response.status;
  }
  return found;
}

it.each(["turn", "run"] as const)(
  "reads go on in full storage, and after a restart in a %s",
  async (open) => {
    const runtime = runtimeWith(open);
    const post = json({ message: "Orders?" }, { accept: "application/json" });
    await (await runtime.ask("POST", `${BASE}/messages`, post)).text();
    if (open === "turn") {
      void runtime.ask("POST", `${BASE}/messages`, post);
    } else {
      const made = await runtime.ask("POST", `${BASE}/plans`, json({ calls: [{ _tool: "hang" }] }));
      const { id } = (await made.json()) as { id: string };
      void runtime.ask("POST", `${BASE}/plans/${id}/run`, json({}));
    }
    await vi.waitUntil(() => runtime.objectOf("c").sql.seen.length > 0);
    for (let n = 0; n < 50; n++) await vi.advanceTimersByTimeAsync(10);
    const before = await statuses(runtime);
    expect(new Set(Object.values(before))).toEqual(new Set([200]));
    fill(runtime);
    expect(await statuses(runtime)).toEqual(before);
    runtime.kill();
    expect(await statuses(runtime)).toEqual(before);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(await statuses(runtime)).toEqual(before);
    const written = await runtime.ask("PUT", `${BASE}/variables/v`, json({ a: 1 }));
    expect([written.status, await written.json()]).toMatchObject([507, { code: "storage_full" }]);
    vi.mocked(runtime.objectOf("c").sql.all).mockRestore();
    const free = await runtime.ask("PUT", `${BASE}/variables/v`, json({ a: 1 }));
    expect(free.status).toBe(201);
  },
);
