import { Agent } from "@mastra/core/agent";
import type { ToolsInput } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { createTool } from "@mastra/core/tools";
import { MemoryStore, variableTools, withToolVariables } from "byref/mastra";
import { callsOf, scriptedModel } from "byref/testing";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentOf, ScriptedModel, type Step } from "../scripted-model.ts";
import { weatherAgent } from "../weather-agent.ts";

const folder = join(import.meta.dirname, "..");

const guide = readFileSync(join(folder, "../../docs/guides/mastra.md"), "utf8");

async function before(model: MastraModelConfig, tools: ToolsInput) {
  // --- before
  const agent = new Agent({
    id: "weather",
    name: "Weather",
    instructions: "You help.",
    model,
    tools,
  });
  const { text } = await agent.generate("Compare the weather in NYC and London.");
  // ---
  expect(text).toBe("Hello.");
  return agent;
}

describe("the guide to Mastra agents", () => {
  it("says how many lines change", () => {
    const [plain = [], wrapped = []] = Array.from(
      guide.matchAll(/^```ts\n([^`]+)^```/gm),
      ([, code = ""]) =>
        code
          .trim()
          .split("\n")
          .map((line) => line.trim()),
    );
    const changed = wrapped.filter((line) => !plain.includes(line));
    console.log(`lines of an agent that change: ${changed.length}`);
    expect(guide).toContain(`${changed.length} lines are new or changed`);
    expect(changed.length).toBeLessThanOrEqual(5);
  });

  it("wraps an agent, and the type stays that of the agent", async () => {
    const model = new ScriptedModel([{ text: "Hello." }]).config;
    const tools = {};
    // --- five lines
    const agent = withToolVariables(
      new Agent({
        id: "weather",
        name: "Weather",
        instructions: "You help.",
        model,
        tools,
      }),
    );
    const { text } = await agent.generate("Compare the weather in NYC and London.");
    // ---
    const base = await before(new ScriptedModel([{ text: "Hello." }]).config, tools);
    const same: typeof base = withToolVariables(base);
    expect(same).toBeInstanceOf(Agent);
    expect(same).not.toBe(base);
    expect(text).toBe("Hello.");
  });

  it("compares two cities by reference", async () => {
    const model = new ScriptedModel([
      {
        calls: [
          ["getWeather", { location: "NYC" }],
          ["getWeather", { location: "London" }],
        ],
      },
      { calls: [["compareWeather", { city1: "$weather_nyc", city2: "$weather_london" }]] },
      {
        text: "NYC is warmer at $weather_nyc.temperature°F vs London's $weather_london.temperature°F.",
      },
    ]);
    const { text, toolResults } = await weatherAgent(model.config).generate("Compare.");
    expect(text).toBe("NYC is warmer at 72°F vs London's 58°F.");
    expect(JSON.stringify(toolResults)).toContain('"warmer":"NYC","degrees":14');
    const prompt = JSON.stringify(model.prompts.at(-1)?.prompt);
    expect(prompt).toContain("weather_nyc");
    // No earlier message contains the guide or the list.
    expect(prompt.split("<variables>").length).toBeLessThan(3);
  });

  it("runs with npm start", () => {
    const said = execFileSync(process.execPath, ["main.ts"], { cwd: folder, encoding: "utf8" });
    expect(said).toContain('compareWeather {"city1":"$weather_nyc","city2":"$weather_london"}');
    expect(said).toContain("It is 72°F in NYC and 58°F in London.");
  }, 60_000);

  it("sends at most 3 % of the prompt of a script of 200 KB", async () => {
    const script = "A line of dialogue that says very little.\n".repeat(4_900).slice(0, 200_000);
    const answer = async (isByRef: boolean) => {
      const model = new ScriptedModel(scriptSteps(isByRef ? "$read_script_1" : script));
      const agent = scriptAgent(model, script);
      const { text } = await (isByRef ? withToolVariables(agent) : agent).generate("Count.");
      expect(text).toBe("Counted.");
      return model.promptChars;
    };
    const [without, withByref] = [await answer(false), await answer(true)];
    console.log(`prompt: ${without} characters without, ${withByref} with byref`);
    expect(withByref / without).toBeLessThan(0.03);
    const [all, few] = [without, withByref].map((chars) => chars.toLocaleString("en"));
    const percent = ((withByref / without) * 100).toFixed(1);
    expect(guide).toContain(`are ${all} characters with the plain agent and ${few} with`);
    expect(guide).toContain(`\`byref/mastra\`: ${percent} %.`);
    const readme = readFileSync(join(folder, "../../README.md"), "utf8");
    expect(readme).toContain(
      `[${percent} % of Mastra's prompts](docs/guides/mastra.md#what-it-costs)`,
    );
  });
});

const orders = Array.from({ length: 500 }, (_, id) => ({ id, total: id * 3 }));
const listOrders = createTool({
  id: "list-orders",
  description: "Lists orders.",
  inputSchema: z.object({}),
  execute: async () => orders,
});

function shopOf(model: MastraModelConfig, tools: ToolsInput) {
  const instructions = "You look after a shop.";
  return new Agent({ id: "shop", name: "Shop", instructions, model, tools });
}

const looking: readonly Step[] = [
  { calls: [["listOrders", {}]] },
  {
    calls: [
      ["read_variable", { name: "listOrders_1", path: "[499].total" }],
      ["query_variables", { sql: "SELECT sum(total) AS sum FROM listOrders_1" }],
    ],
  },
  { text: "The last total is $listOrders_1[499].total." },
];

it("a model looks into the variables of a Mastra agent by the tools for it", async () => {
  const scripted = new ScriptedModel(looking);
  const model = scripted.config;
  // --- tools for variables
  const store = new MemoryStore();
  const own = variableTools({ store, only: ["read_variable", "query_variables"] });
  const shop = new Agent({
    id: "shop",
    name: "Shop",
    instructions: "You look after a shop.",
    model,
    tools: { listOrders, ...own },
  });
  const { text } = await withToolVariables(shop, { store }).generate("Which total is last?");
  // ---
  expect(text).toBe("The last total is 1497.");
  const last = JSON.stringify(scripted.prompts.at(-1)?.prompt);
  expect(last).toContain('"value":1497');
  expect(last).toContain("374250");
  expect(store.list().map(({ name }) => name)).toEqual(["listOrders_1", "listOrders_query_1"]);
});

it("these tools may also be added to a step", async () => {
  const store = new MemoryStore();
  const own = variableTools({ store, only: ["read_variable", "query_variables"] });
  const agent = shopOf(new ScriptedModel(looking).config, { listOrders });
  const { text } = await withToolVariables(agent, { store }).generate("Which total is last?", {
    prepareStep: ({ tools }) => ({ tools: { ...tools, ...own } }),
  });
  expect(text).toBe("The last total is 1497.");
  expect(store.list().map(({ name }) => name)).toEqual(["listOrders_1", "listOrders_query_1"]);
});

it("is tested with a scripted model", async () => {
  // --- a scripted model
  const model = scriptedModel([
    { tool: "listOrders", input: {} },
    "The last total is $listOrders_1[499].total.",
  ]);
  const shop = new Agent({
    id: "shop",
    name: "Shop",
    instructions: "You look after a shop.",
    model: model as unknown as MastraModelConfig,
    tools: { listOrders },
  });
  const { text } = await withToolVariables(shop).generate("Which total is last?");
  expect(text).toBe("The last total is 1497.");
  const [, second] = callsOf(model);
  const result = second?.messages.find(({ role }) => role === "tool");
  expect(result?.text).toContain('"$var":"listOrders_1"');
  expect(result?.text).not.toContain("1497");
  expect(second?.sentChars).toBeLessThan(2_000);
  // ---
  const plain = scriptedModel([{ tool: "listOrders", input: {} }, "Done."]);
  await shopOf(plain as unknown as MastraModelConfig, { listOrders }).generate(
    "Which total is last?",
  );
  expect(callsOf(plain)[1]?.sentChars).toBeGreaterThan(JSON.stringify(orders).length);
});

/** Reads a script, counts its words, counts its lines, and answers: four calls of the model. */
function scriptSteps(text: string): readonly Step[] {
  return [
    { calls: [["read_script", {}]] },
    { calls: [["count", { text, of: "words" }]] },
    { calls: [["count", { text, of: "lines" }]] },
    { text: "Counted." },
  ];
}

function scriptAgent(model: ScriptedModel, script: string) {
  const readScript = createTool({
    id: "read_script",
    description: "Reads the script.",
    inputSchema: z.object({}),
    execute: async () => script,
  });
  const count = createTool({
    id: "count",
    description: "Counts words or lines.",
    inputSchema: z.object({ text: z.string(), of: z.enum(["words", "lines"]) }),
    execute: async ({ text, of }) => {
      expect(text).toBe(script);
      return { count: text.split(of === "words" ? /\s+/ : "\n").length };
    },
  });
  return agentOf(model, {
    instructions: "You read scripts.",
    tools: { read_script: readScript, count },
  });
}

describe("what cannot be wrapped", () => {
  const config = {
    id: "old",
    name: "Old",
    instructions: "",
    model: new ScriptedModel([]).config,
  };

  it("is refused with the name of what an older version lacks", () => {
    const agent = new Agent(config);
    Object.assign(agent, { __listLLMRequestProcessors: undefined });
    expect(() => withToolVariables(agent)).toThrow(
      /@mastra\/core 1\.68 or newer.*no __listLLMRequestProcessors/,
    );
  });

  it("is refused if it is of a subclass, or durable", () => {
    class OwnAgent extends Agent {}
    expect(() => withToolVariables(new OwnAgent(config))).toThrow(/subclass/);
    expect(() => withToolVariables(new Agent({ ...config, durable: true }))).toThrow(/durable/);
  });
});
