import { expect, it, vi } from "vitest";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { finish, scriptedModel, text } from "../../packages/testing/src/testing.ts";
import { json } from "../support/edge.ts";
import { NodeRuntime } from "../support/node-runtime.ts";

const agents = [{ name: "a", description: "", instructions: "", tools: {} }] as const;
const unset = Number(undefined);

it.each<[limit: string, options: Partial<RuntimeOptions>]>([
  ["spend.turn.modelCalls", { spend: { turn: { modelCalls: unset } } }],
  ["spend.conversation.tokens", { spend: { conversation: { tokens: -1 } } }],
  ["spend.tenant.toolCalls", { spend: { tenant: { toolCalls: unset, per: "day" } } }],
  ["retention.quotaBytes", { retention: { quotaBytes: unset } }],
  ["retention.conversationIdleMs", { retention: () => ({ conversationIdleMs: unset }) }],
])("a limit that is no number is named, not left out: %s", async (limit, options) => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const model = scriptedModel([[text("Hi."), finish()]]);
  const runtime = new NodeRuntime({ agents, model, ...options });
  const message = json({ message: "Hi." }, { accept: "application/json" });
  const response = await runtime.ask("POST", "/conversations/c/messages", message);
  const problem = JSON.parse(await response.text()) as object;
  expect(problem).toMatchObject({
    code: "bad_configuration",
    detail: expect.stringMatching(
      new RegExp(`^${limit} must be a number from 0 on, not (?:NaN|-1)\\.$`),
    ),
  });
});
