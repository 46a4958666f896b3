/** Mastra's weather agent: two cities, and a comparison that receives both. */
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { createTool } from "@mastra/core/tools";
import { withToolVariables } from "byref/mastra";
import * as z from "zod";

const places: Readonly<Record<string, { temperature: number; humidity: number }>> = {
  NYC: { temperature: 72, humidity: 45 },
  London: { temperature: 58, humidity: 80 },
};
const weather = z.object({ city: z.string(), temperature: z.number(), humidity: z.number() });

const getWeather = createTool({
  id: "get-weather",
  description: "Returns the weather of a city.",
  inputSchema: z.object({ location: z.string() }),
  outputSchema: weather,
  execute: async ({ location }) => ({
    city: location,
    ...(places[location] ?? { temperature: 0, humidity: 0 }),
  }),
});

const compareWeather = createTool({
  id: "compare-weather",
  description: "Compares the weather of two cities.",
  inputSchema: z.object({ city1: weather, city2: weather }),
  outputSchema: z.object({ warmer: z.string(), degrees: z.number() }),
  execute: async ({ city1: a, city2: b }) => ({
    warmer: a.temperature > b.temperature ? a.city : b.city,
    degrees: Math.abs(a.temperature - b.temperature),
  }),
});

export function weatherAgent(model: MastraModelConfig) {
  const baseAgent = new Agent({
    id: "weather-agent",
    name: "Weather Agent",
    instructions: "You are a helpful weather assistant.",
    model,
    tools: { getWeather, compareWeather },
  });
  return withToolVariables(baseAgent, {
    naming: (toolId, input) =>
      toolId === "get-weather"
        ? `weather_${input.location.toLowerCase().replaceAll(/\s+/g, "_")}`
        : toolId,
  });
}
