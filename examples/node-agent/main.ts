/** An AI SDK agent that works by reference: `npm ci && npm start`. Needs no key and no Worker. */
import { tool, ToolLoopAgent } from "ai";
import { MemoryStore, variableTools, withToolVariables } from "byref/agent";
import { demoModel } from "byref/demo"; // or a real one: anthropic("…")
import * as z from "zod";

const orders = Array.from({ length: 300 }, (_, index) => ({
  id: `ord_${index + 1}`,
  country: ["DE", "FR", "US"][index % 3],
  total: 10 + (index % 50),
}));

const store = new MemoryStore();
const agent = withToolVariables(
  new ToolLoopAgent({
    model: demoModel(),
    tools: {
      list_orders: tool({
        description: "Lists all orders.",
        inputSchema: z.object({}),
        execute: () => orders,
      }),
      ...variableTools({ store, only: ["query_variables"] }),
    },
  }),
  { store },
);

const prompt = process.argv[2] ?? "How many orders are from DE?";
const { steps, text } = await agent.generate({ prompt });
const calls = steps.flatMap(({ toolCalls }) => toolCalls);
for (const { toolName, input } of calls) console.log(toolName, JSON.stringify(input));
console.log(text);
