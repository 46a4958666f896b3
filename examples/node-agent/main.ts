/**
 * An AI SDK agent that works by reference: `npx node examples/node-agent/main.ts`. Needs no key and no
 * Worker.
 */
import { tool, ToolLoopAgent } from "ai";
import * as z from "zod";
import { withToolVariables } from "../../src/agent.ts"; // in an application: "byref/agent"
import { demoModel } from "../demo-model/demo-model.ts"; // or a real one: anthropic("…")

const places: Readonly<Record<string, { city: string; temperature: number }>> = {
  NYC: { city: "New York", temperature: 22 },
  London: { city: "London", temperature: 14 },
};
const weather = z.object({ city: z.string(), temperature: z.number() });

const agent = withToolVariables(
  new ToolLoopAgent({
    model: demoModel(),
    tools: {
      get_weather: tool({
        inputSchema: z.object({ location: z.string() }),
        execute: ({ location }) => ({ ...places[location], humidity: 50, conditions: "clear" }),
      }),
      compare_weather: tool({
        inputSchema: z.object({ city1: weather, city2: weather }),
        execute: ({ city1: a, city2: b }) => ({
          summary: `${a.temperature > b.temperature ? a.city : b.city} is warmer.`,
        }),
      }),
    },
  }),
);

const { steps, text } = await agent.generate({ prompt: "Compare the weather in NYC and London." });
const calls = steps.flatMap(({ toolCalls }) => toolCalls);
for (const { toolName, input } of calls) console.log(toolName, JSON.stringify(input));
console.log(text);
