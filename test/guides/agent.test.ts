import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateText, isStepCount, tool, ToolLoopAgent } from "ai";
import {
  MemoryStore,
  sqliteStore,
  summaryOf,
  variableTools,
  withToolVariables,
  wrapTools,
} from "byref/agent";
import { expect, it } from "vitest";
import * as z from "zod";
import { scriptedModel } from "../../packages/testing/src/testing.ts";

const orders = Array.from({ length: 200 }, (_, id) => ({ id, total: 2 }));
const given: unknown[] = [];
const tools = {
  list_orders: tool({ inputSchema: z.object({}), execute: () => orders }),
  sum: tool({
    inputSchema: z.object({ numbers: z.array(z.number()) }),
    execute: ({ numbers }) => {
      given.push(numbers.length);
      return numbers.reduce((sum, number) => sum + number, 0);
    },
  }),
};
const steps = [
  [{ tool: "list_orders", input: {} }],
  [{ tool: "sum", input: { numbers: "$list_orders_1[*].total" } }],
  "All in all $sum_1.",
];

it("runs without Byref at the start of the guide", async () => {
  const model = scriptedModel(["Hello."]);
  // --- before
  const agent = new ToolLoopAgent({ model, tools });
  const { text, responseMessages } = await agent.generate({ prompt: "How much?" });
  // ---
  expect(text).toBe("Hello.");
  expect(responseMessages).toHaveLength(1);
});

it("runs the SDK's own agent by reference", async () => {
  const model = scriptedModel([...steps, "Still $sum_1."]);
  // --- the SDK's own agent
  const store = new MemoryStore(); // one for each conversation
  const agent = withToolVariables(new ToolLoopAgent({ model, tools }), { store });
  const { text, responseMessages } = await agent.generate({ prompt: "How much?" });
  // ---
  expect(text).toBe("All in all 400.");
  expect(given).toEqual([200]);
  expect(JSON.stringify(responseMessages)).toContain("All in all $sum_1.");
  expect(JSON.stringify(responseMessages).length).toBeLessThan(2_000);
  const again = [...responseMessages, { role: "user" as const, content: "And now?" }];
  expect((await agent.generate({ messages: again })).text).toBe("Still 400.");
  const namesOf = ({ tools = [] }: { tools?: readonly { name: string }[] | undefined }) =>
    tools.map(({ name }) => name);
  // None of the tools that look into variables is offered.
  expect(model.calls.map(namesOf)).toEqual(model.calls.map(() => ["list_orders", "sum"]));
});

it("stores a conversation on disk, and lets its model read the variables", async () => {
  const folder = mkdtempSync(join(tmpdir(), "guide-"));
  const file = join(folder, "conversation.sqlite");
  const before = sqliteStore(file);
  await before.save({ name: "orders", value: orders });
  before.close();
  const model = scriptedModel([
    [{ tool: "read_variable", input: { name: "orders", path: "[199]" } }],
    "199.",
  ]);
  // --- a store on disk
  const store = sqliteStore(file); // Node 22.13 or newer; one file for each conversation
  const { text } = await generateText({
    model,
    tools: { ...wrapTools(tools, { store }), ...variableTools({ store, only: ["read_variable"] }) },
    stopWhen: isStepCount(5),
    prompt: `${summaryOf(store)}\n\nWhat is the last one?`,
  });
  store.close();
  // ---
  expect(text).toBe("199.");
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain("## orders");
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('"id":199');
  rmSync(folder, { recursive: true, force: true });
});
