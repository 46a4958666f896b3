import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { withToolVariables } from "byref/mastra";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ScriptedModel, type Step } from "../scripted-model.ts";
import { weatherAgent } from "../weather-agent.ts";

const folder = join(import.meta.dirname, "..");

describe("the guide to Mastra agents", () => {
  it("wraps an agent, and the type stays that of the agent", async () => {
    const model = new ScriptedModel([{ text: "Hello." }]).config;
    const tools = {};
    // --- five lines
    const agent = withToolVariables(
      new Agent({ id: "weather", name: "Weather", instructions: "You help.", model, tools }),
      { instructionStyle: "minimal" },
    );
    const { text } = await agent.generate("Compare the weather in NYC and London.");
    // ---
    const base = new Agent({ id: "weather", name: "Weather", instructions: "", model, tools });
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
    // The guide and the list are in no earlier message.
    expect(prompt.split("<variables>").length).toBeLessThan(3);
  });

  it("runs with npm start", () => {
    const said = execFileSync(process.execPath, ["main.ts"], { cwd: folder, encoding: "utf8" });
    expect(said).toContain('compareWeather {"city1":"$weather_nyc","city2":"$weather_london"}');
    expect(said).toContain("It is 72°F in NYC and 58°F in London.");
  });

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
  });
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
  return new Agent({
    id: "reader",
    name: "Reader",
    instructions: "You read scripts.",
    model: model.config,
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
      /@mastra\/core 1\.71 or newer.*no __listLLMRequestProcessors/,
    );
  });

  it("is refused if it is of a subclass, or durable", () => {
    class OwnAgent extends Agent {}
    expect(() => withToolVariables(new OwnAgent(config))).toThrow(/subclass/);
    expect(() => withToolVariables(new Agent({ ...config, durable: true }))).toThrow(/durable/);
  });
});
