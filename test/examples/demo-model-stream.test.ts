import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { orders } from "../../examples/agents/orders.ts";
import { demoModel } from "../../examples/demo-model/demo-model.ts";
import { asking, partsOf, Session, weather, withResult } from "../support/demo-session.ts";
import { Conversation } from "../support/turn.ts";

describe("questions about the model", () => {
  it.each(["Who are you?", "help", "Tell me a joke", ""])("introduces itself: %j", async (text) => {
    const { steps, answer } = await new Session().ask(text);
    expect(steps).toEqual([]);
    expect(answer).toMatch(
      /^I am the demo model of Byref: .* You can try:\n\n- What's the weather/su,
    );
  });

  it("suggests three questions about the tools that are offered", async () => {
    const tools = { get_weather: weather.tools.get_weather, fly: weather.tools.get_weather };
    const { answer } = await new Session(tools).ask("help");
    expect(answer).toContain("\n\n- What's the weather in NYC?\n- get weather\n- fly\n\n");
  });

  it("says what else it can do when a tool is not offered, before any call", async () => {
    const { write_report: _, ...rest } = orders.tools;
    const { steps, answer } = await new Session(rest).ask("Write a report");
    expect(steps).toEqual([]);
    expect(answer).toContain(
      "because the tool write_report is not offered. You can try:\n\n- Show my orders.\n",
    );
  });

  it("calls no tool if the tool choice forbids it", async () => {
    const options = { ...asking("Weather in NYC?"), toolChoice: { type: "none" } as const };
    const { content, finishReason } = await demoModel().doGenerate(options);
    expect(finishReason.unified).toBe("stop");
    expect(content[0]).toMatchObject({ type: "text" });
  });
});

describe("the stream", () => {
  it("emits one word with its white space at a time, and loses nothing", async () => {
    const parts = await partsOf(asking("who are you"));
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
    const parts = await partsOf(asking("Weather in São Paulo and Rome?"));
    const call = parts.filter((part) => part.type === "tool-call");
    expect(call).toEqual([
      {
        type: "tool-call",
        toolCallId: "call_1",
        toolName: "get_weather",
        input: '{"location":"São Paulo"}',
      },
      {
        type: "tool-call",
        toolCallId: "call_2",
        toolName: "get_weather",
        input: '{"location":"Rome"}',
      },
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

  it("is the same for the same prompt", async () => {
    expect(await partsOf(asking("Weather in Rome?"))).toEqual(
      await partsOf(asking("Weather in Rome?")),
    );
  });

  it("never repeats a call id, even if the history has lost its first calls", async () => {
    const history = withResult(asking("Weather in NYC?"), { type: "text", value: "" }, "call_7");
    const again = { role: "user", content: [{ type: "text", text: "Weather in Rome?" }] } as const;
    const prompt: LanguageModelV4Prompt = [
      ...history.prompt,
      { ...again, content: [...again.content] },
    ];
    const { content } = await demoModel().doGenerate({ ...history, prompt });
    expect(content).toMatchObject([{ toolCallId: "call_8" }]);
  });

  it("counts four characters of prompt and output as one token, rounded up", async () => {
    const question = "Weather in Rome?";
    const asked = asking(question);
    const { usage } = await demoModel().doGenerate(asked);
    const input = question.length + JSON.stringify(asked.tools).length;
    const output = Math.ceil(("get_weather".length + '{"location":"Rome"}'.length) / 4);
    expect(usage.inputTokens.total).toBe(Math.ceil(input / 4));
    expect(usage.outputTokens.total).toBe(output);
    const longer = withResult(asking(question), { type: "text", value: "x".repeat(4_000) });
    expect((await demoModel().doGenerate(longer)).usage.inputTokens.total).toBeGreaterThan(1_000);
  });

  it("counts the same characters as a turn's savings", async () => {
    const conversation = new Conversation({ agent: orders });
    const question = "Summarize my orders.";
    const { result } = await conversation.say({ steps: [], model: demoModel(), question });
    const { usage, savings } = result.metadata;
    const counted = 4 * (usage?.inputTokens ?? 0);
    expect(savings.promptChars).toBeGreaterThan(1_000);
    // Each of the three calls is rounded up.
    expect(counted - savings.promptChars).toBeGreaterThanOrEqual(0);
    expect(counted - savings.promptChars).toBeLessThan(3 * 4);
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

  it("stops at the next part without a delay, and at once if already aborted", async () => {
    const controller = new AbortController();
    const options = { ...asking("who are you"), abortSignal: controller.signal };
    const { stream } = await demoModel().doStream(options);
    const reader = stream.getReader();
    await reader.read();
    controller.abort("enough");
    await expect(reader.read()).rejects.toBe("enough");
    await expect(demoModel().doGenerate(options)).rejects.toBe("enough");
  });

  it("waits between words on request", async () => {
    const started = performance.now();
    const { content } = await demoModel({ wordDelayMs: 5 }).doGenerate(
      asking("How is the weather?"),
    );
    const words = content[0]?.type === "text" ? content[0].text.split(" ").length : 0;
    expect(words).toBeGreaterThan(5);
    // Timers may fire a millisecond early.
    expect(performance.now() - started).toBeGreaterThan(words * 4);
  });

  it("names itself", () => {
    expect(demoModel()).toMatchObject({
      specificationVersion: "v4",
      provider: "byref",
      modelId: "demo",
    });
  });
});
