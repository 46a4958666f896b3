import { Mastra } from "@mastra/core/mastra";
import { MockMemory } from "@mastra/core/memory";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { MemoryStore, type VariableStore, withToolVariables } from "byref/mastra";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentOf, ScriptedModel, type Step } from "../scripted-model.ts";

const ADAS = "ada's account";

function bankOf(model: ScriptedModel) {
  const account = createTool({
    id: "account",
    description: "Returns the account.",
    inputSchema: z.object({}),
    execute: async () => ({ owner: ADAS }),
  });
  const pay = createTool({
    id: "pay",
    description: "Pays.",
    inputSchema: z.object({ to: z.string() }),
    requireApproval: true,
    execute: async ({ to }) => ({ paid: to }),
  });
  return agentOf(model, { tools: { account, pay }, memory: new MockMemory() });
}

/** A bank whose runs can wait. */
function waitingBank(steps: readonly Step[]) {
  const bank = withToolVariables(bankOf(new ScriptedModel(steps)));
  const storage = new InMemoryStore();
  return new Mastra({ agents: { bank }, storage, logger: false }).getAgent("bank");
}

const asking = (resource: string) => ({
  runId: "r1",
  memory: { thread: `of-${resource}`, resource },
});
/** Two calls of the model, after which the run waits for a person. */
const paying: readonly Step[] = [
  { calls: [["account", {}]] },
  { calls: [["pay", { to: "$account_1.owner" }]] },
];
const show: Step = { text: "$account_1.owner" };

describe("a run whose id another call uses, too", () => {
  it.each([
    ["another memory", asking("mallory")] as const,
    ["no memory", { runId: "r1" }] as const,
  ])("shows its variables to no call with %s, while it waits", async (_, other) => {
    const agent = waitingBank([...paying, show]);
    const { finishReason } = await agent.generate("Pay.", asking("ada"));
    expect(finishReason).toBe("suspended");
    expect((await agent.generate("Show.", other)).text).toBe("$account_1.owner");
  });

  it("shows them to no call that runs at the same time", async () => {
    const agent = waitingBank([{ calls: [["account", {}]] }, show, show]);
    const running = await agent.stream("Show.", { runId: "r1" });
    const [ours, others] = await Promise.all([
      running.text,
      (async () => {
        await running.steps;
        return (await agent.generate("Show.", { runId: "r1" })).text;
      })(),
    ]);
    expect([ours, others]).toEqual([ADAS, "$account_1.owner"]);
  });

  it("is not resumed with another memory, and is with its own or none", async () => {
    const agent = waitingBank([...paying, show]);
    await agent.generate("Pay.", asking("ada"));
    const approved = { approved: true };
    await expect(agent.resumeGenerate(approved, asking("mallory"))).rejects.toThrow(
      /r1 has another memory/,
    );
    const resumed = await agent.resumeGenerate(approved, asking("ada"));
    expect(resumed.text).toContain(ADAS);
  });
});

it.each(["fails", "is aborted", "ends"])(
  "a run that does not end with an answer lets go of its variables if it %s",
  async (how) => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const stores: WeakRef<VariableStore>[] = [];
    const stop = new AbortController();
    const model = new ScriptedModel([{ calls: [["account", {}]] }]);
    const agent = withToolVariables(bankOf(model), {
      store: () => {
        const store = new MemoryStore();
        stores.push(new WeakRef(store));
        return store;
      },
    });
    const call = { abortSignal: stop.signal, maxSteps: 3, modelSettings: { maxRetries: 0 } };
    model.onStep = (step) => {
      if (step === 0 || how === "ends") return;
      // An error would hold on to what called it until its stack is read.
      if (how === "is aborted") stop.abort("Stopped.");
      throw stop.signal.aborted ? stop.signal.reason : new Error("The model is down.");
    };
    const ask = async () => (await agent.stream("Show.", call)).consumeStream();
    await ask();
    expect(stores).toHaveLength(1);
    await expect
      .poll(() => {
        collect();
        return stores[0]?.deref();
      })
      .toBeUndefined();
  },
);
