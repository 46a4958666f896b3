import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { expandText, lookupIn } from "../../src/references.ts";
import { tool, ToolLoopAgent } from "ai";
import * as z from "zod";
import { withToolVariables } from "../../packages/adapters/src/agent.ts";
import { finish, scriptedModel, text, toolCall } from "../../packages/testing/src/testing.ts";

const long = "😀".repeat(limits.maxPieceChars * 2);

describe("expandText in a Worker", () => {
  it("accepts no more input until a long value has been read, slice by slice", async () => {
    const { readable, writable } = expandText(lookupIn({ long }));
    const writer = writable.getWriter();
    let isTaken = false;
    const writing = writer.write("$long,").then(() => {
      isTaken = true;
    });
    const reader = readable.getReader();
    const first = await reader.read();
    expect(first.value?.length).toBeLessThanOrEqual(limits.maxPieceChars);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isTaken).toBe(false);
    let text = first.value ?? "";
    const closing = writer.close();
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    await Promise.all([writing, closing]);
    expect([isTaken, text === `${long},`]).toEqual([true, true]);
  });
});

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
