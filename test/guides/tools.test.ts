import { tool, ToolLoopAgent } from "ai";
import { withToolVariables } from "byref/agent";
import { expect, it } from "vitest";
import * as z from "zod";
import { scriptedModel } from "../../packages/testing/src/testing.ts";

it("uses a tool's own toModelOutput for a small value", async () => {
  const model = scriptedModel([[{ tool: "look", input: {} }], "Done."]);
  const look = tool({
    inputSchema: z.object({}),
    execute: () => ({ celsius: 9 }),
    toModelOutput: ({ output }) => ({ type: "text", value: `${output.celsius} degrees` }),
  });
  await withToolVariables(new ToolLoopAgent({ model, tools: { look } })).generate({ prompt: "?" });
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain("$look_1: 9 degrees");
});
