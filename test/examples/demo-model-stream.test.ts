import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { orders } from "../../examples/agents/orders.ts";
import { createWeather } from "../../examples/agents/weather.ts";
import { demoModel } from "../../examples/demo-model/demo-model.ts";

/** A question to a model that is offered the tools of two agents, except the one of this name. */
function asking(question: string, missing = ""): LanguageModelV4CallOptions {
  const names = Object.keys({ ...createWeather().tools, ...orders.tools });
  return {
    prompt: [{ role: "user", content: [{ type: "text", text: question }] }],
    tools: names
      .filter((name) => name !== missing)
      .map((name) => ({ type: "function", name, inputSchema: { type: "object" } })),
  };
}

async function partsOf(question: string): Promise<readonly LanguageModelV4StreamPart[]> {
  const { stream } = await demoModel().doStream(asking(question));
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

it.each([
  ["Who are you?", "", /^I am the demo model of Byref: .* You can try:\n\n- What's the weather/su],
  [
    "Tell me a joke",
    "",
    /^I am the demo model of Byref: .* You can try:\n\n- What's the weather/su,
  ],
  [
    "Write a report",
    "write_report",
    /the tool write_report is not offered\. You can try:\n\n- What's/,
  ],
])(
  "the model answers %j without a call, and without the tool %j",
  async (question, missing, said) => {
    const { content } = await demoModel().doGenerate(asking(question, missing));
    expect(content).toEqual([{ type: "text", text: expect.stringMatching(said) }]);
  },
);

describe("the stream", () => {
  it("emits one word with its white space at a time, and loses nothing", async () => {
    const parts = await partsOf("who are you");
    const deltas = parts.flatMap((part) => (part.type === "text-delta" ? [part.delta] : []));
    expect(deltas.slice(0, 3)).toEqual(["I ", "am ", "the "]);
    expect(deltas.every((delta) => /^\S+\s*$/u.test(delta))).toBe(true);
    const { content } = await demoModel().doGenerate(asking("who are you"));
    expect(content).toEqual([{ type: "text", text: deltas.join("") }]);
    expect([...new Set(parts.map((part) => part.type))]).toEqual([
      "stream-start",
      "response-metadata",
      "text-start",
      "text-delta",
      "text-end",
      "finish",
    ]);
  });

  it("streams a call's input in pieces and then the call, with ids of its own", async () => {
    const parts = await partsOf("Weather in São Paulo and Rome?");
    const call = parts.filter((part) => part.type === "tool-call");
    expect(call).toMatchObject([
      { toolCallId: "call_1", toolName: "get_weather", input: '{"location":"São Paulo"}' },
      { toolCallId: "call_2", toolName: "get_weather", input: '{"location":"Rome"}' },
    ]);
    const first = parts.filter((part) => "id" in part && part.id === "call_1");
    expect(first.map((part) => part.type)).toEqual([
      "tool-input-start",
      "tool-input-delta",
      "tool-input-delta",
      "tool-input-end",
    ]);
    const input = first.flatMap((part) => (part.type === "tool-input-delta" ? [part.delta] : []));
    expect(input.join("")).toBe('{"location":"São Paulo"}');
    expect(parts.at(-1)).toMatchObject({ finishReason: { unified: "tool-calls" } });
  });

  it("never repeats a call id, even if the history has lost its first calls", async () => {
    const { prompt, ...options } = asking("Weather in Rome?");
    const call = { toolCallId: "call_7", toolName: "get_weather" };
    const output = { type: "text", value: "" } as const;
    const history: LanguageModelV4Prompt = [
      ...asking("Weather in NYC?").prompt,
      { role: "assistant", content: [{ type: "tool-call", ...call, input: { location: "NYC" } }] },
      { role: "tool", content: [{ type: "tool-result", ...call, output }] },
      ...prompt,
    ];
    const { content } = await demoModel().doGenerate({ ...options, prompt: history });
    expect(content).toMatchObject([{ toolCallId: "call_8" }]);
  });

  it("fails with the abort's reason during a delay", async () => {
    const controller = new AbortController();
    const reason = new Error("The user left");
    const { stream } = await demoModel({ wordDelayMs: 60_000 }).doStream({
      ...asking("who are you"),
      abortSignal: controller.signal,
    });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const part of stream) {
        seen.push(part.type);
        // By then it waits with the first word.
        if (part.type === "text-start") setImmediate(() => controller.abort(reason));
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(seen).toEqual(["stream-start", "response-metadata", "text-start"]);
  });
});
