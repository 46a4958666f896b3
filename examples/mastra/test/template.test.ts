/** An application as Mastra's templates make them: memory and traces in LibSQL, a workflow, and a network. */
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { withToolVariables } from "byref/mastra";
import { expect, it } from "vitest";
import * as z from "zod";
import { agentOf, ScriptedModel, type Step } from "../scripted-model.ts";

const hours = Array.from({ length: 400 }, (_, hour) => ({ hour, temperature: hour % 30 }));
const forecast = createTool({
  id: "forecast",
  description: "Returns the forecast of a city, hour by hour.",
  inputSchema: z.object({ city: z.string() }),
  execute: async () => hours,
});
const warmest = createTool({
  id: "warmest",
  description: "Returns the highest of some temperatures.",
  inputSchema: z.object({ temperatures: z.array(z.number()) }),
  execute: async ({ temperatures }) => ({
    count: temperatures.length,
    max: Math.max(...temperatures),
  }),
});
const question = [
  { calls: [["forecast", { city: "Berlin" }]] },
  { calls: [["warmest", { temperatures: "$forecast_berlin[*].temperature" }]] },
  { text: "At most $warmest_1.max degrees in $warmest_1.count hours." },
] satisfies readonly Step[];
const answer = "At most 29 degrees in 400 hours.";
const inThread = { memory: { thread: "berlin", resource: "ada" } };

function application(steps: readonly Step[], routing: readonly Step[] = []) {
  const model = new ScriptedModel(steps);
  const finished: string[] = [];
  const weatherAgent = withToolVariables(
    agentOf(model, {
      id: "weather-agent",
      name: "Weather Agent",
      description: "Knows the weather.",
      tools: { forecast, warmest },
      memory: new Memory(),
    }),
  );
  const router = agentOf(new ScriptedModel(routing), {
    agents: { weatherAgent },
    memory: new Memory(),
  });
  const onFinish = ({ text }: { text: string }) => void finished.push(text);
  const weatherWorkflow = createWorkflow({
    id: "weather-workflow",
    inputSchema: z.object({ prompt: z.string() }),
    outputSchema: z.object({ chars: z.number() }),
  })
    .then(createStep(weatherAgent, { onFinish }))
    .map(async ({ inputData: { text } }) => ({ chars: text.length }))
    .commit();
  const storage = new LibSQLStore({ id: "storage", url: ":memory:" });
  const agents = { weatherAgent, router };
  const mastra = new Mastra({ agents, workflows: { weatherWorkflow }, storage, logger: false });
  return { mastra, model, finished };
}

it("a thread in LibSQL has handles, and its next turn the variables", async () => {
  const { mastra, model } = application([...question, { text: "$forecast_berlin[-1].hour" }]);
  const agent = mastra.getAgent("weatherAgent");
  expect((await agent.generate("How warm?", inThread)).text).toBe(answer);
  expect((await agent.generate("Which hour is last?", inThread)).text).toBe("399");
  const memory = await agent.getMemory();
  const { messages } = (await memory?.recall({ threadId: "berlin", resourceId: "ada" })) ?? {};
  expect(JSON.stringify(messages)).toContain("$forecast_berlin[*].temperature");
  expect(JSON.stringify(messages)).not.toContain("<variables>");
  expect(JSON.stringify(messages).length).toBeLessThan(8_000);
  expect(JSON.stringify(model.prompts.at(-1)?.prompt)).not.toContain('"hour":300');
});

it("a workflow's next step and the callbacks of its agent get values", async () => {
  const { mastra, finished } = application(question);
  const run = await mastra.getWorkflow("weatherWorkflow").createRun();
  const result = await run.start({ inputData: { prompt: "How warm?" } });
  expect(result).toMatchObject({ status: "success", result: { chars: answer.length } });
  expect(finished).toEqual([answer]);
});

it("a network answers with values", async () => {
  const route = { primitiveId: "weatherAgent", primitiveType: "agent", prompt: "How warm?" };
  const { mastra } = application(question, [
    { text: JSON.stringify({ ...route, selectionReason: "It knows the weather." }) },
    { text: '{"isComplete":true,"completionReason":"Answered.","finalResult":""}' },
  ]);
  const stream = await mastra.getAgent("router").network("How warm?", { ...inThread, maxSteps: 1 });
  const results: unknown[] = [];
  for await (const chunk of stream) {
    if (chunk.type === "agent-execution-end") results.push(chunk.payload.result);
  }
  expect(results).toEqual([answer]);
});
