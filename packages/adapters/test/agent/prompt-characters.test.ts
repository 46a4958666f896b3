import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ModelMessage, tool, ToolLoopAgent, type ToolSet } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { type InstructionStyle, withToolVariables } from "../../src/agent.ts";
import { scriptedModel } from "../../../testing/src/testing.ts";

const place = z.object({
  city: z.string(),
  temperature: z.number(),
  humidity: z.number(),
  conditions: z.string(),
});
const nyc = { city: "New York", temperature: 72, humidity: 45, conditions: "clear" };
const london = { city: "London", temperature: 58, humidity: 80, conditions: "rain" };

/** The tools of the project's first sketch: two cities, one comparison. */
const tools: ToolSet = {
  get_weather: tool({
    description: "The weather in a city.",
    inputSchema: z.object({ location: z.string() }),
    execute: ({ location }) => (location === "NYC" ? nyc : london),
  }),
  compare_weather: tool({
    description: "Compares two reports.",
    inputSchema: z.object({ city1: place, city2: place }),
    execute: () => ({ warmer: "New York", difference: 14 }),
  }),
};
const naming = (name: string, input: unknown) =>
  name === "compare_weather"
    ? "comparison"
    : `weather_${(input as { location: string }).location.toLowerCase()}`;

/** Asks two questions, passing the whole history with each, as users of the SDK do. Counts characters. */
async function hold(style?: InstructionStyle | "by value") {
  const isByValue = style === "by value";
  const cities = isByValue
    ? { city1: nyc, city2: london }
    : { city1: "$weather_nyc", city2: "$weather_london" };
  const steps = [
    [{ tool: "get_weather", input: { location: "NYC" } }],
    "It's 72°F in NYC with 45% humidity.",
    [{ tool: "get_weather", input: { location: "London" } }],
    [{ tool: "compare_weather", input: cities }],
    "NYC is warmer at 72°F vs London's 58°F.",
  ];
  const model = scriptedModel(steps);
  const plain = new ToolLoopAgent({ model, tools, instructions: "You help with data." });
  const options = { naming, ...(style !== undefined && !isByValue && { instructionStyle: style }) };
  const agent = isByValue ? plain : withToolVariables(plain, options);
  const messages: ModelMessage[] = [];
  const answers: string[] = [];
  for (const ask of ["What's the weather in NYC?", "What about London? Then compare them."]) {
    messages.push({ role: "user", content: ask });
    const result = await agent.generate({ messages: [...messages] });
    messages.push(...result.responseMessages);
    answers.push(result.text);
    const parts = result.steps.flatMap(({ content }) => content);
    expect(parts.filter(({ type }) => type === "tool-error")).toEqual([]);
  }
  const prompts = model.calls.map(charsOf).reduce((sum, chars) => sum + chars, 0);
  return { prompts, written: JSON.stringify(steps).length, answers };
}

/** Counts the characters of a prompt, without tool definitions. */
function charsOf({ prompt }: Pick<LanguageModelV4CallOptions, "prompt">): number {
  const parts = prompt.flatMap(({ content }): unknown[] =>
    typeof content === "string" ? [{ text: content }] : content,
  );
  return parts.reduce<number>((sum, part) => {
    const { text, input, output } = part as Readonly<Record<string, unknown>>;
    const written = typeof text === "string" ? text : JSON.stringify(output ?? input ?? null);
    return sum + written.length;
  }, 0);
}

it("is longer with a few numbers, where the guide costs more than it saves, and the model writes less", async () => {
  const [small, byValue] = [await hold(), await hold("by value")];
  expect(small.written).toBeLessThan(byValue.written);
  expect(small.answers).toEqual(byValue.answers);
  // All results are small, so the detailed guide is not added.
  expect((await hold("minimal")).prompts).toBe(small.prompts);
  expect(small.prompts).toBeLessThan((await hold("full")).prompts);
  const guide = readFileSync(join(import.meta.dirname, "../../../../docs/guides/agent.md"), "utf8");
  for (const { prompts } of [byValue, small])
    expect(guide).toContain(prompts.toLocaleString("en-US"));
});
