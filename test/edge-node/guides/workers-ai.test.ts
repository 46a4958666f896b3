import { type Agent, createRuntime, modelFromSettings } from "byref";
import { workersAiModels } from "byref/workers-ai";
import { expect, it } from "vitest";
import { json } from "../../support/edge.ts";
import { withWorker } from "../../support/own-runtime.ts";

const agent: Agent = { name: "test", description: "", instructions: "Help.", tools: {} };

// --- a Worker with Workers AI
const runtime = createRuntime({ agents: [agent], model: modelFromSettings(workersAiModels) });
// ---

/** A Workers AI binding whose model answers with one word. */
const AI = {
  run: async (model: string) => {
    const chunks = [
      { choices: [{ index: 0, delta: { content: `Hello from ${model}.` }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    ];
    const events = [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"];
    return new Blob(events.map((data) => `data: ${data}\n\n`)).stream();
  },
};
const ask = json({ message: "Hello" }, { accept: "text/plain" });

it("asks the model that MODEL names, through the binding", () =>
  withWorker(
    runtime,
    async (own) => {
      const response = await own.call("POST", "/conversations/one/messages", ask);
      expect(await response.text()).toBe("Hello from @cf/meta/llama.");
    },
    { bindings: { AI, MODEL: "workers-ai:@cf/meta/llama" } },
  ));

it("names the lines for wrangler.toml without the binding", () =>
  withWorker(
    runtime,
    async (own) => {
      const response = await own.call("POST", "/conversations/one/messages", ask);
      const { code, detail } = await response.json<{ code: string; detail: string }>();
      expect(code).toBe("bad_configuration");
      expect(detail).toContain('[ai] binding = "AI"');
    },
    { bindings: { MODEL: "workers-ai:@cf/meta/llama" } },
  ));
