import { expect, it } from "vitest";
import * as z from "zod";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import type { Agent } from "../../../src/turn/agent.ts";
import { clientOf, failureOf } from "../../support/client.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { toolOf } from "../../support/tool-of.ts";

const add = toolOf({ a: z.number() }, async ({ a }) => {
  await scheduler.wait(20);
  if (a < 0) throw new Error("secret-value is below zero");
  return a + 1;
});
const agent: Agent = { name: "adder", description: "Adds.", instructions: "Add.", tools: { add } };
const steps: Step[] = [
  [
    toolCall("add", { a: 1 }, { id: "c1" }),
    toolCall("add", { a: -1 }, { id: "c2" }),
    finish("tool-calls"),
  ],
  [text("It is $add_1."), finish()],
];

it("the timeline of an answer has each model call and tool call with its times, and no value", async () => {
  const model = scriptedModel(steps);
  await withRuntime({ agents: [agent], model }, async (own) => {
    const chat = clientOf(own).conversation("c");
    const { message } = await chat.send("Add secret-value.").json();
    const timeline = await chat.timeline(message.id);
    const [attempt, ...others] = timeline.attempts;
    expect(others).toEqual([]);
    expect(attempt).toMatchObject({ agent: "adder", model: model.modelId });
    expect(attempt?.activities).toMatchObject([
      { kind: "model", name: model.modelId, depth: 0 },
      { kind: "tool", name: "add", depth: 0, call: "c1" },
      { kind: "tool", name: "add", depth: 0, call: "c2", error: "tool_failed" },
      { kind: "model", depth: 0 },
    ]);
    const [, first, , last] = attempt?.activities ?? [];
    expect(first?.durationMs).toBeGreaterThanOrEqual(10);
    const ends = (first?.startMs ?? 0) + (first?.durationMs ?? 0);
    expect(last?.startMs).toBeGreaterThanOrEqual(ends);
    expect(attempt?.durationMs).toBeGreaterThanOrEqual(ends);
    expect(JSON.stringify(timeline)).not.toContain("secret-value");
    expect(JSON.stringify(await chat.messages())).not.toContain("durationMs");
    const listed = await (await own.call("GET", "/conversations/c/events")).text();
    expect(listed).toMatch(/"type":"tool\.failed"[^{}]*"tool":"add"[^{}]*"code":"tool_failed"/u);
    expect(await failureOf(chat.timeline("nobody"))).toMatchObject({ code: "not_found" });
  });
});
