import { runInDurableObject } from "cloudflare:test";
import { tool } from "ai";
import { expect } from "vitest";
import * as z from "zod";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import type { SpendLimits, Spent } from "../../src/turn/spend/spend.ts";
import { directoryOf, eventually } from "./directory.ts";
import { json, newId } from "./edge.ts";
import { type OwnRuntime, withRuntime } from "./own-runtime.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../packages/testing/src/testing.ts";

/** Returns a tenant with spend limits and its own runtime, whose agent has a tool that counts its calls. */
export function spendingTenant(
  spend: SpendLimits,
  {
    steps = endless(0),
    more = {},
  }: { steps?: readonly Step[]; more?: Partial<RuntimeOptions> } = {},
) {
  const name = `tenant ${newId()}`;
  let acts = 0;
  const act = tool({ inputSchema: z.object({}), execute: () => ++acts });
  const agent = { name: "a", description: "", instructions: "", tools: { act } };
  const model = scriptedModel(steps);
  const options: RuntimeOptions = { agents: [agent], model, spend, ...more };
  /** Runs the work in a conversation of the tenant. */
  const inside = <Result>(work: (own: OwnRuntime) => Promise<Result>, id: string = newId()) =>
    withRuntime(options, work, { name: JSON.stringify([name, id]) });
  return {
    name,
    model,
    acts: () => acts,
    inside,
    /** Returns the stream of one turn in a new conversation. */
    ask: () => inside((own) => say(own)),
    /** Returns the tenant's total usage, including active leases; undefined before the first use. */
    used: (what: keyof Spent) => usedBy(name, what),
  };
}

async function say(own: OwnRuntime, message = "Go."): Promise<string> {
  return (await own.call("POST", "/conversations/c/messages", json({ message }))).text();
}

const tokens = { input: 60, output: 40 };

/** Answers 2,000 times: each turn makes this many tool calls, one per step, and then ends. */
export function endless(acts: number): readonly Step[] {
  const step: Step = ({ prompt }) => {
    const asked = prompt.findLastIndex(({ role, content }) => {
      return role === "user" && !JSON.stringify(content).includes("<variables>");
    });
    const made = prompt.slice(asked).filter(({ role }) => role === "tool").length;
    return made < acts
      ? [toolCall("act", {}, { id: `call_${made}` }), finish("tool-calls", tokens)]
      : [text("Done."), finish("stop", tokens)];
  };
  return Array.from({ length: 2_000 }, () => step);
}

const REFUSED = "spend_exceeded: This tenant may spend";

const many = <Result>(count: number, make: () => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, make));

function refusedOf(streams: readonly string[]): number {
  return streams.filter((stream) => stream.includes(REFUSED)).length;
}

/**
 * Runs many conversations at once that need more calls than allowed, and then uses up the rest one by one.
 */
export async function spendAtOnce(sizes: { conversations: number; maximum: number }) {
  const { conversations, maximum } = sizes;
  const tenant = spendingTenant({ tenant: { modelCalls: maximum } }, { steps: endless(2) });
  const streams = await many(conversations, tenant.ask);
  const atOnce = tenant.model.calls.length;
  expect(atOnce).toBeLessThanOrEqual(maximum);
  expect(refusedOf(streams)).toBeGreaterThan(0);
  await eventually(async () => expect(await tenant.used("modelCalls")).toBe(atOnce));
  for (let refused = 0; refused === 0;) refused = refusedOf([await tenant.ask()]);
  expect(tenant.model.calls).toHaveLength(maximum);
  await eventually(async () => expect(await tenant.used("modelCalls")).toBe(maximum));
  return { atOnce };
}

/** Sends far more requests than a conversation may answer, as fast as possible. */
export async function spendInOne({ requests, maximum }: { requests: number; maximum: number }) {
  const tenant = spendingTenant({ conversation: { modelCalls: maximum } });
  const startMs = Date.now();
  await tenant.inside(async (own) => {
    let left = requests;
    const asking = async () => {
      while (left-- > 0) await say(own);
    };
    // More than may be queued, so some are refused at once.
    await many(20, asking);
  });
  expect(tenant.model.calls).toHaveLength(maximum);
  return { tookMs: Date.now() - startMs };
}

async function usedBy(tenant: string, what: keyof Spent): Promise<number | undefined> {
  return runInDurableObject(directoryOf(tenant), (_, { storage: { sql } }) => {
    const found = sql.exec("SELECT name FROM sqlite_master WHERE name = 'spend'").toArray();
    if (found.length === 0) return undefined;
    const rows = sql.exec("SELECT what, amount FROM spend WHERE key = ''").toArray();
    return Number(rows.find((row) => row.what === what)?.amount);
  });
}
