import { type ModelMessage, tool, ToolLoopAgent } from "ai";
import { MemoryStore, requireTrusted, withToolVariables } from "byref/agent";
import { expect, it } from "vitest";
import * as z from "zod";
import { scriptedModel, type Step } from "../../packages/testing/src/testing.ts";

it("asks for approval with the resolved values, in the SDK's own agent", async () => {
  const sent: number[] = [];
  const send = tool({
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => void sent.push(text.length),
  });
  const call: Step = [{ tool: "send", input: { text: "$letter" } }];
  const model = scriptedModel([call, "Sent.", call, "Sent."]);
  const store = new MemoryStore();
  await store.save({ name: "letter", value: "Dear all" });
  // --- the SDK's own agent
  const agent = withToolVariables(
    new ToolLoopAgent({
      model,
      tools: { send },
      toolApproval: { send: ({ text }) => (text.length < 100 ? "approved" : "user-approval") },
    }),
    { store, policy: requireTrusted(["send"]) },
  );
  // ---
  await agent.generate({ prompt: "Go." });
  expect(sent).toEqual([8]);
  await store.save({ name: "letter", value: "x".repeat(200) });
  const asked = await agent.generate({ prompt: "Go." });
  const request = asked.content.find((part) => part.type === "tool-approval-request");
  expect(request?.reason).toMatch(/\nInput: \{"text":"x{200}"\}$/);
  const approvalId = request?.approvalId ?? "";
  const messages: ModelMessage[] = [
    { role: "user", content: "Go." },
    ...asked.responseMessages,
    { role: "tool", content: [{ type: "tool-approval-response", approved: true, approvalId }] },
  ];
  await agent.generate({ messages });
  expect(sent).toEqual([8, 200]);
});
