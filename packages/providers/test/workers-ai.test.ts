import { expect, it } from "vitest";
import { weather } from "../../../examples/agents/weather.ts";
import type { RuntimeOptions } from "../../../src/edge/create-runtime.ts";
import { modelFromSettings } from "../../../src/edge/model.ts";
import { workersAiModels } from "../src/workers-ai.ts";
import { json, type TurnJson } from "../../../test/support/edge.ts";
import { withRuntime } from "../../../test/support/own-runtime.ts";

type Delta = Readonly<Record<string, unknown>>;
interface Run {
  readonly model: string;
  readonly inputs: {
    readonly stream: boolean;
    readonly messages: readonly Readonly<Record<string, unknown>>[];
  };
}

const MODEL = "@cf/meta/llama-test";

/** A binding whose n-th run streams the n-th list of deltas, or throws. */
function binding(steps: readonly (readonly Delta[] | Error)[]) {
  const runs: Run[] = [];
  const run = async (model: string, inputs: Run["inputs"]) => {
    const step = steps[runs.length] ?? new Error("The script has ended.");
    runs.push({ model, inputs: structuredClone(inputs) });
    if (step instanceof Error) throw step;
    return streamOf(step);
  };
  return { AI: { run }, runs };
}

function streamOf(deltas: readonly Delta[]): ReadableStream<Uint8Array> {
  const reason = deltas.some((delta) => "tool_calls" in delta) ? "tool_calls" : "stop";
  const chunks = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    { choices: [], usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } },
  ];
  const events = [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"];
  const text = events.map((data) => `data: ${data}\n\n`).join("");
  return new Blob([text]).stream();
}

function call(id: string, name: string, input: object): Delta {
  return {
    tool_calls: [
      { index: 0, id, type: "function", function: { name, arguments: JSON.stringify(input) } },
    ],
  };
}

const ask = json({ message: "Which of the two is warmer?" }, { accept: "application/json" });

/** Runs one turn with a Workers AI model, in a Worker with these additional bindings. */
function turnWith(bindings: object): Promise<Response> {
  const model = modelFromSettings(workersAiModels);
  const options: RuntimeOptions = {
    agents: [weather],
    model: (settings, own) =>
      model({ ...settings, MODEL: `workers-ai:${MODEL}` }, { ...own, ...bindings }),
  };
  return withRuntime(options, async (own) => {
    const response = await own.call("POST", "/conversations/one/messages", ask);
    return new Response(await response.text(), response);
  });
}

it("answers by reference through the AI binding", async () => {
  const { runs, ...bindings } = binding([
    [call("call_1", "get_weather", { location: "NYC" })],
    [call("call_2", "compare_weather", { city1: "$get_weather_nyc", city2: "$get_weather_nyc" })],
    [{ role: "assistant", content: "In $get_wea" }, { content: "ther_nyc.city, anyway." }],
  ]);
  const response = await turnWith(bindings);
  expect(response.status).toBe(200);
  const { message, usage } = await response.json<TurnJson>();
  expect(message.parts.at(-1)).toMatchObject({ type: "text", text: "In New York, anyway." });
  expect(usage).toMatchObject({ inputTokens: 33, outputTokens: 21 });

  expect(runs.map(({ model }) => model)).toEqual([MODEL, MODEL, MODEL]);
  const [first, second, third] = runs.map(({ inputs }) => inputs);
  expect(first?.stream).toBe(true);
  expect(first?.messages[0]?.content).toMatch(/^You report the weather\./);
  expect(second?.messages.at(-1)?.content).toMatch(/^\{"\$var":"get_weather_nyc","value":/);
  expect(JSON.stringify(third?.messages)).toContain('\\"city1\\":\\"$get_weather_nyc\\"');
});

it("fails with model_failed and what the binding says", async () => {
  const message = "AiError: 3040: Capacity temporarily exceeded, please try again.";
  const { AI } = binding(Array.from({ length: 20 }, () => new Error(message)));
  const response = await turnWith({ AI });
  expect(response.status).toBe(502);
  const said = await response.json<{ code: string; detail: string }>();
  expect(said.code).toBe("model_failed");
  expect(said.detail).toContain(message);
});
