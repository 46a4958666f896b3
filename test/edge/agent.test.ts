import { tool, ToolLoopAgent } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { withToolVariables } from "../../packages/adapters/src/agent.ts";
import { finish, scriptedModel, text, toolCall } from "../../packages/testing/src/testing.ts";

it("runs an agent of the AI SDK by reference in any Worker, without an object", async () => {
  const got: unknown[] = [];
  const model = scriptedModel([
    [toolCall("load", {}), finish("tool-calls")],
    [toolCall("take", { rows: "$load_1" }), finish("tool-calls")],
    [text("The first is $load_1[0].id.", { chunks: 2 }), finish()],
  ]);
  const agent = new ToolLoopAgent({
    model,
    tools: {
      load: tool({
        inputSchema: z.object({}),
        execute: () => Array.from({ length: 2_000 }, (_, id) => ({ id: `row ${id}` })),
      }),
      take: tool({
        inputSchema: z.object({ rows: z.array(z.object({ id: z.string() })) }),
        execute: ({ rows }) => void got.push(rows.length),
      }),
    },
  });
  const result = await withToolVariables(agent).stream({ prompt: "Go." });
  expect(await result.toTextStreamResponse().text()).toBe("The first is row 0.");
  expect(got).toEqual([2_000]);
  expect(JSON.stringify(model.calls.map(({ prompt }) => prompt))).not.toContain("row 1999");
});
