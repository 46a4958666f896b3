import { tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { json } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "../../../packages/testing/src/testing.ts";

const MODEL_CALLS = 31;
const TOOL_CALLS = 17;

it.each([
  ["model calls", { modelCalls: MODEL_CALLS }],
  ["tool calls", { toolCalls: TOOL_CALLS }],
])(
  "a conversation makes exactly as many %s as its limit, under concurrent requests",
  async (_, most) => {
    let toolCalls = 0;
    let modelCalls = 0;
    const act = tool({ inputSchema: z.object({}), execute: () => ++toolCalls });
    // Each turn: one tool call and an answer.
    const steps = Array.from({ length: 2_000 }, (_, step) => () => {
      modelCalls++;
      return step % 2 === 0
        ? [toolCall("act", {}, { id: `c${step}` }), finish("tool-calls")]
        : [text("Done."), finish()];
    });
    const agent = {
      name: "test",
      description: "For tests.",
      instructions: "Help.",
      tools: { act },
    };
    const options = {
      agents: [agent] as const,
      model: scriptedModel(steps),
      spend: { conversation: most },
    };
    await withRuntime(options, async ({ call, wakeAgain }) => {
      const ask = async (message: string) => {
        const init = json({ message }, { accept: "application/json" });
        const response = await call("POST", "/conversations/c/messages", init);
        return `${response.status} ${(await response.json<{ code?: string }>()).code ?? "done"}`;
      };
      const outcomes = new Map<string, number>();
      const note = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      let posts = 0;
      // A thousand requests at once; then as many as may wait, each time after the object was restarted.
      for (const wave of [1_000, 9, 9]) {
        const asked = Array.from({ length: wave }, () => ask(`Number ${posts++}`));
        for (const outcome of await Promise.all(asked)) note(outcome);
        wakeAgain();
      }
      const spent = "modelCalls" in most ? modelCalls : toolCalls;
      const limit = "modelCalls" in most ? MODEL_CALLS : TOOL_CALLS;
      expect([...outcomes.keys()].sort()).toEqual(
        expect.arrayContaining(["200 done", "429 spend_exceeded"]),
      );
      expect(spent).toBe(limit);
    });
  },
);
