import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ModelMessage, tool, ToolLoopAgent, type ToolSet } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { type InstructionStyle, withToolVariables } from "../../src/agent.ts";
import { scriptedModel, type Step } from "../../../testing/src/testing.ts";
import { slow } from "../../../../test/support/slow.ts";

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

const segments = ["retail", "public", "industry"];
const customers = Array.from({ length: 50 }, (_, at) => ({
  id: `c${at}`,
  name: `Customer ${at}`,
  segment: segments[at % 3] ?? "",
  country: ["DE", "FR", "US"][at % 3] ?? "",
}));
const transactions = Array.from({ length: 5_000 }, (_, at) => ({
  id: `t${at}`,
  customer: `c${(at * 7_919) % 50}`,
  amount: ((at * 104_729) % 100_000) / 100,
  at: new Date(Date.UTC(2025, 0, 1) + at * 6_000_000).toISOString(),
}));
type Transaction = (typeof transactions)[number];
const amounts = (of: (transaction: Transaction) => string) =>
  Object.entries(Object.groupBy(transactions, of)).map(([key, group = []]) => ({
    key,
    total: Math.round(group.reduce((sum, { amount }) => sum + amount, 0)),
  }));
const bySegment = amounts(({ customer }) => segments[Number(customer.slice(1)) % 3] ?? "");
const top = amounts(({ customer }) => customer)
  .toSorted((a, b) => b.total - a.total)
  .slice(0, 5);

const rows = z.array(z.record(z.string(), z.unknown()));

/** Three turns over 50 customers and 5,000 transactions: load, group, rank and report. */
const analytics: Conversation = {
  tools: {
    list_customers: tool({ inputSchema: z.object({}), execute: () => customers }),
    list_transactions: tool({ inputSchema: z.object({}), execute: () => transactions }),
    revenue: tool({
      inputSchema: z.object({ customers: rows, transactions: rows, by: z.string() }),
      execute: () => bySegment,
    }),
    top: tool({
      inputSchema: z.object({ transactions: rows, count: z.number() }),
      execute: () => top,
    }),
    save_report: tool({
      inputSchema: z.object({ title: z.string(), revenue: rows, top: rows }),
      execute: () => ({ saved: true }),
    }),
  },
  naming: (name) => name,
  values: {
    list_customers: customers,
    list_transactions: transactions,
    revenue: bySegment,
    top,
  },
  turns: [
    {
      ask: "Load the customers and the transactions of 2025.",
      steps: () => [
        [
          { tool: "list_customers", input: {} },
          { tool: "list_transactions", input: {} },
        ],
        "There are 50 customers and 5000 transactions.",
      ],
    },
    {
      ask: "What is the revenue of each segment?",
      steps: (write, say) => [
        [
          {
            tool: "revenue",
            input: {
              customers: write("list_customers"),
              transactions: write("list_transactions"),
              by: "segment",
            },
          },
        ],
        `Here it is:\n\n${say("revenue")}`,
      ],
    },
    {
      ask: "Which five customers bring most? Save a report of both.",
      steps: (write, say) => [
        [{ tool: "top", input: { transactions: write("list_transactions"), count: 5 } }],
        [
          {
            tool: "save_report",
            input: { title: "2025", revenue: write("revenue"), top: write("top") },
          },
        ],
        `These, and the report is saved:\n\n${say("top")}`,
      ],
    },
  ],
};

interface Count {
  /** Characters of the instructions and messages of all calls. */
  readonly prompts: number;
  /** Characters of the tool definitions of all calls. */
  readonly tools: number;
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
    tools: sum(model.calls.map((call) => JSON.stringify(call.tools).length)),
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

it("carries at most a tenth of the characters where the data is large", slow, async () => {
  const small = await hold(weather);
  const smallByValue = await hold(weather, "by value");
  const full = await hold(weather, "full");
  const large = await hold(analytics);
  const largeByValue = await hold(analytics, "by value");

  expect(large.prompts + large.tools).toBeLessThan(0.1 * largeByValue.prompts);
  expect(large.written).toBeLessThan(0.01 * largeByValue.written);
  expect(large.answers[1]).toContain("| industry |");
  // With only a few numbers, the guide costs more than it saves. The model still writes less.
  expect(small.written).toBeLessThan(smallByValue.written);
  // All results are small, so the detailed guide is not added.
  expect((await hold(weather, "minimal")).prompts).toBe(small.prompts);
  expect(small.prompts).toBeLessThan(full.prompts);
  expect(small.answers).toEqual(smallByValue.answers);

  const guide = readFileSync(join(import.meta.dirname, "../../../../docs/guides/agent.md"), "utf8");
  for (const { prompts } of [smallByValue, small, largeByValue, large])
    expect(guide).toContain(prompts.toLocaleString("en-US"));
});
