import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ModelMessage, tool, ToolLoopAgent, type ToolSet } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { type InstructionStyle, withToolVariables } from "../../src/agent.ts";
import { scriptedModel, type Step } from "../../../testing/src/testing.ts";

/** Returns what the model writes for a value: a reference, or the value itself. */
type Write = (name: string) => unknown;

interface Turn {
  readonly ask: string;
  readonly steps: (write: Write, say: (name: string) => string) => readonly Step[];
}

interface Conversation {
  readonly tools: ToolSet;
  readonly naming: (tool: string, input: unknown) => string;
  /** Values of the variables, by name. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly turns: readonly Turn[];
}

const place = z.object({
  city: z.string(),
  temperature: z.number(),
  humidity: z.number(),
  conditions: z.string(),
});
const nyc = { city: "New York", temperature: 72, humidity: 45, conditions: "clear" };
const london = { city: "London", temperature: 58, humidity: 80, conditions: "rain" };
const comparison = { warmer: "New York", difference: 14 };

/** The conversation of the project's first sketch: two cities, one comparison. */
const weather: Conversation = {
  tools: {
    get_weather: tool({
      description: "The weather in a city.",
      inputSchema: z.object({ location: z.string() }),
      execute: ({ location }) => (location === "NYC" ? nyc : london),
    }),
    compare_weather: tool({
      description: "Compares two reports.",
      inputSchema: z.object({ city1: place, city2: place }),
      execute: () => comparison,
    }),
  },
  naming: (name, input) =>
    name === "compare_weather"
      ? "comparison"
      : `weather_${(input as { location: string }).location.toLowerCase()}`,
  values: { weather_nyc: nyc, weather_london: london, comparison },
  turns: [
    {
      ask: "What's the weather in NYC?",
      steps: () => [
        [{ tool: "get_weather", input: { location: "NYC" } }],
        "It's 72°F in NYC with 45% humidity.",
      ],
    },
    {
      ask: "What about London? Then compare them.",
      steps: (write) => [
        [{ tool: "get_weather", input: { location: "London" } }],
        [
          {
            tool: "compare_weather",
            input: { city1: write("weather_nyc"), city2: write("weather_london") },
          },
        ],
        "NYC is warmer at 72°F vs London's 58°F.",
      ],
    },
  ],
};

interface Count {
  /** Characters of the instructions and messages of all calls. */
  readonly prompts: number;
  /** Characters that the model wrote. */
  readonly written: number;
  readonly answers: readonly string[];
}

/** Runs the conversation and passes the whole history with each question, as users of the SDK do. */
async function hold(
  conversation: Conversation,
  style?: InstructionStyle | "by value",
): Promise<Count> {
  const { tools, naming, values, turns } = conversation;
  const isByValue = style === "by value";
  const write: Write = (name) => (isByValue ? values[name] : `$${name}`);
  const say = (name: string) => (isByValue ? JSON.stringify(values[name]) : `$${name}`);
  const steps = turns.flatMap((turn) => turn.steps(write, say));
  const model = scriptedModel(steps);
  const plain = new ToolLoopAgent({ model, tools, instructions: "You help with data." });
  const agent = isByValue
    ? plain
    : withToolVariables(plain, {
        naming,
        ...(style === undefined ? {} : { instructionStyle: style }),
      });
  const messages: ModelMessage[] = [];
  const answers: string[] = [];
  for (const { ask } of turns) {
    messages.push({ role: "user", content: ask });
    const result = await agent.generate({ messages: [...messages] });
    messages.push(...result.responseMessages);
    answers.push(result.text);
    expect(result.steps.flatMap(({ content }) => content.filter(isError))).toEqual([]);
  }
  const sum = (counts: readonly number[]) => counts.reduce((all, one) => all + one, 0);
  return {
    prompts: sum(model.calls.map(charsOf)),
    written: JSON.stringify(steps).length,
    answers,
  };
}

function isError({ type }: { readonly type: string }): boolean {
  return type === "tool-error";
}

/** Counts the characters of a prompt, without tool definitions. */
function charsOf({ prompt }: Pick<LanguageModelV4CallOptions, "prompt">): number {
  return prompt.reduce((sum, { content }) => {
    const parts = typeof content === "string" ? [content] : content;
    return sum + parts.reduce((chars, part) => chars + partChars(part), 0);
  }, 0);
}

function partChars(part: unknown): number {
  if (typeof part === "string") return part.length;
  const { text, input, output } = part as Readonly<Record<string, unknown>>;
  if (typeof text === "string") return text.length;
  return JSON.stringify(output ?? input ?? null).length;
}

it("is longer with a few numbers, where the guide costs more than it saves, and the model writes less", async () => {
  const small = await hold(weather);
  const byValue = await hold(weather, "by value");
  expect(small.written).toBeLessThan(byValue.written);
  expect(small.answers).toEqual(byValue.answers);
  // All results are small, so the detailed guide is not added.
  expect((await hold(weather, "minimal")).prompts).toBe(small.prompts);
  expect(small.prompts).toBeLessThan((await hold(weather, "full")).prompts);
  const guide = readFileSync(join(import.meta.dirname, "../../../../docs/guides/agent.md"), "utf8");
  for (const { prompts } of [byValue, small])
    expect(guide).toContain(prompts.toLocaleString("en-US"));
});
