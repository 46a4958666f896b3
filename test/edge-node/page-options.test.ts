import { expect, it } from "vitest";
import { createClient } from "../../packages/client/src/client.ts";
import { createRuntime, modelFromSettings, type PageOptions } from "../../src/byref.ts";
import { scriptedModel } from "../../packages/testing/src/testing.ts";
import { sendTo } from "../support/client.ts";
import { ORIGIN } from "../support/edge.ts";
import { type OwnRuntime, withWorker } from "../support/own-runtime.ts";

const agentsOf = (own: OwnRuntime) => createClient(ORIGIN, { fetch: sendTo(own) }).agents();

const clerk = { name: "clerk", description: "Knows the stock.", instructions: "", tools: {} };
const agents = [clerk] as const;

const page: PageOptions = {
  title: "Stockroom",
  lead: "Ask what is there.",
  colors: { accent: { light: "#004499", dark: "#88bbff" }, accentText: "white" },
  examples: [{ title: "Stock", question: "What is there?", about: "Counts.", agent: "clerk" }],
  agent: "clerk",
};

it("describes the application and its model to the page", async () => {
  await withWorker(createRuntime({ agents, model: scriptedModel([]), page }), async (own) => {
    const { model, ...described } = await agentsOf(own as OwnRuntime);
    expect(described).toEqual({
      agents: [{ name: "clerk", description: "Knows the stock." }],
      page,
    });
    const { provider, modelId } = scriptedModel([]);
    expect(model).toEqual({ provider, id: modelId });
  });
});

it("lists the agents even if the model lacks a setting", async () => {
  const model = modelFromSettings();
  await withWorker(createRuntime({ agents, model }), async (own) => {
    const described = await agentsOf(own as OwnRuntime);
    expect(described).toEqual({ agents: [{ name: "clerk", description: "Knows the stock." }] });
  });
});

it("names a model that is given by its name", async () => {
  await withWorker(createRuntime({ agents, model: "vendor/large" }), async (own) => {
    expect((await agentsOf(own as OwnRuntime)).model).toEqual({ id: "vendor/large" });
  });
});
