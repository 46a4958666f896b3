import { jsonSchema, type ModelMessage } from "ai";
import { expect, it } from "vitest";
import { OwnTool } from "../../src/agent/wrap-tools.ts";
import { ClientCalls, Run } from "../../src/mastra/run.ts";
import { storeWith } from "../../../../test/support/wrapped.ts";

const called = (input: unknown): ModelMessage[] => [
  {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "show:0", toolName: "show", input }],
  },
];

it("a client's call is shown as the model wrote it, and another call of its id as it is (vllm-project/vllm#50295, fw-ai/fireconnect#16)", async () => {
  const store = await storeWith({ rows: [1, 2] });
  const show = { inputSchema: jsonSchema({}), execute: () => undefined };
  const run = new Run("1");
  run.clientTools.set("show", new OwnTool("show", show, { store }));
  const calls = new ClientCalls();
  const args = { it: "$rows", more: true };
  const payload = { toolCallId: "show:0", toolName: "show", args };
  const [sent] = await calls.resolved({ type: "tool-call", payload }, run);
  expect(sent?.payload?.["args"]).toEqual({ it: [1, 2], more: true });
  expect(calls.asWritten(called({ more: true, it: [1, 2] }))).toEqual(called(args));
  expect(calls.asWritten(called({ it: [3] }))).toEqual(called({ it: [3] }));
});
