import { isStepCount, NoSuchToolError, tool, ToolLoopAgent } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { withToolVariables } from "../../src/agent.ts";
import { scriptedModel } from "../../../testing/src/testing.ts";

const take = tool({ inputSchema: z.object({ it: z.string() }), execute: ({ it: given }) => given });
const steps = [[{ tool: "tak", input: { it: "this" } }], "Done."] as const;
const stopWhen = isStepCount(3);

/** Returns the results of the first step as the model reads them. */
const shownTo = (model: ReturnType<typeof scriptedModel>) =>
  JSON.stringify(model.calls[1]?.prompt.filter(({ role }) => role === "tool"));

it.each(["generate", "stream"] as const)(
  "a model that calls an unknown tool reads similar names, but no class name of the SDK: %s",
  async (way) => {
    const model = scriptedModel(steps);
    const agent = withToolVariables(new ToolLoopAgent({ model, tools: { take }, stopWhen }));
    const { text, steps: made } = await agent[way]({ prompt: "Take this." });
    expect(await text).toBe("Done.");
    expect(shownTo(model)).toContain('"unknown_tool: There is no tool tak. Did you mean: take."');
    const [call] = (await made)[0]?.toolCalls ?? [];
    expect(call !== undefined && "error" in call && NoSuchToolError.isInstance(call.error)).toBe(
      true,
    );
  },
);
