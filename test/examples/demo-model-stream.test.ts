import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { orders } from "../../examples/agents/orders.ts";
import { demoModel } from "../../examples/demo-model/demo-model.ts";
import { asking, partsOf, Session, withResult } from "../support/demo-session.ts";

describe("questions about the model", () => {
  it.each(["Who are you?", "help", "Tell me a joke", ""])("introduces itself: %j", async (text) => {
    const { steps, answer } = await new Session().ask(text);
    expect(steps).toEqual([]);
    expect(answer).toMatch(
      /^I am the demo model of Byref: .* You can try:\n\n- What's the weather/su,
    );
  });

  it("says what else it can do when a tool is not offered, before any call", async () => {
    const { write_report: _, ...rest } = orders.tools;
    const { steps, answer } = await new Session(rest).ask("Write a report");
    expect(steps).toEqual([]);
    expect(answer).toContain(
      "because the tool write_report is not offered. You can try:\n\n- Show my orders.\n",
    );
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
