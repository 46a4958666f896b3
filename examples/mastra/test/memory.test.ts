import { MockMemory } from "@mastra/core/memory";
import { RequestContext } from "@mastra/core/request-context";
import { createTool } from "@mastra/core/tools";
import { MemoryStore, storeKey, withToolVariables } from "byref/mastra";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentOf, ScriptedModel, type Step } from "../scripted-model.ts";

const rows = Array.from({ length: 400 }, (_, id) => ({ id, city: `City ${id}` }));
const list = createTool({
  id: "list",
  description: "Lists cities.",
  inputSchema: z.object({}),
  execute: async () => rows,
});

function setUp(steps: readonly Step[], options: Parameters<typeof withToolVariables>[1] = {}) {
  const model = new ScriptedModel(steps);
  const memory = new MockMemory();
  const agent = agentOf(model, { tools: { list }, memory });
  return { model, memory, agent: withToolVariables(agent, options) };
}

const inThread = (thread: string, resource = "ada") => ({ memory: { thread, resource } });

describe("memory of a Mastra agent", () => {
  it("gives no thread the variables of another, nor of another resource's thread", async () => {
    const { agent } = setUp([
      { calls: [["list", {}]] },
      { text: "Listed." },
      { text: "$list_1[0].city" },
      { text: "$list_1[0].city" },
    ]);
    await agent.generate("List.", inThread("one"));
    expect((await agent.generate("Show.", inThread("two"))).text).toBe("$list_1[0].city");
    expect((await agent.generate("Show.")).text).toBe("$list_1[0].city");
  });

  it("uses the store in the request context, which a client cannot forge", async () => {
    const { agent } = setUp([{ calls: [["list", {}]] }, { text: "$list_1[0].city" }]);
    const store = new MemoryStore();
    const requestContext = new RequestContext<Record<string, unknown>>();
    requestContext.set(storeKey, store);
    const { text } = await agent.generate("List.", { requestContext });
    expect(text).toBe("City 0");
    expect(store.list().map(({ name }) => name)).toEqual(["list_1"]);
    requestContext.set(storeKey, { evictDue: true });
    await expect(agent.generate("List.", { requestContext })).rejects.toThrow(/VariableStore/);
  });

  it("finds the store of a run by its memory, if the application says so", async () => {
    const store = new MemoryStore();
    const asked: unknown[] = [];
    const { agent } = setUp([{ calls: [["list", {}]] }, { text: "Listed." }], {
      store: ({ threadId, resourceId }) => {
        asked.push([threadId, resourceId]);
        return store;
      },
    });
    await agent.generate("List.", inThread("one"));
    expect(asked).toEqual([["one", "ada"]]);
    expect(store.list()).toHaveLength(1);
  });
});
