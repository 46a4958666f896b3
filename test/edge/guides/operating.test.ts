import { createRuntime, modelFromSettings, queries } from "byref";
import { demoModels } from "byref/demo";
import { expect, it, vi } from "vitest";
import { weather } from "../../../examples/agents/weather.ts";
import { json } from "../../support/edge.ts";
import { withWorker } from "../../support/own-runtime.ts";
import { finish, scriptedModel, toolCall } from "../../../packages/testing/src/testing.ts";

const DAY_MS = 86_400_000;
const MIB = 1_048_576;
const NAME = JSON.stringify(["local", crypto.randomUUID()]);

it("an application sets its own limits", async () => {
  const asks = () => [toolCall("get_weather", { location: "NYC" }), finish("tool-calls")];
  const model = scriptedModel(Array.from({ length: 20 }, asks));
  // --- bounds
  const runtime = createRuntime({
    agents: [weather],
    model,
    retention: {
      quotaBytes: 64 * MIB,
      variableIdleMs: 7 * DAY_MS,
      conversationIdleMs: 365 * DAY_MS,
    },
    spend: {
      turn: { modelCalls: 10, tokens: 50_000 },
      conversation: { toolCalls: 500 },
      tenant: { tokens: 2_000_000, per: "day" },
    },
  });
  // ---
  await withWorker(
    runtime,
    async (own) => {
      const init = json({ message: "And again?" }, { accept: "text/plain" });
      const response = await own.call("POST", "/conversations/c/messages", init);
      expect(await response.text()).toContain("[error: spend_exceeded]");
      expect(model.calls).toHaveLength(10);
      // The next alarm evicts the variable, in a week.
      const alarm = async () => (await own.state.storage.getAlarm()) ?? 0;
      await vi.waitUntil(async () => (await alarm()) > Date.now());
      const dueMs = await alarm();
      expect((dueMs - Date.now()) / DAY_MS).toBeCloseTo(7, 1);
    },
    { name: NAME },
  );
});

const desk = { ...weather, name: "desk" };

it("an application uses the demo model", () => {
  // --- the demo model
  const runtime = createRuntime({ agents: [desk], model: modelFromSettings(demoModels), queries });
  // ---
  return withWorker(runtime, async (own) => {
    const init = json({ message: "Weather of Oslo?" }, { accept: "text/plain" });
    const response = await own.call("POST", "/conversations/c/messages", init);
    expect(await response.text()).toContain("get_weather with location Oslo");
  });
});
