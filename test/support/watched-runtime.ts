import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { json } from "./edge.ts";
import type { OwnRuntime } from "./own-runtime.ts";
import { finish, scriptedModel, type Step } from "../../packages/testing/src/testing.ts";
import { planTools } from "./planning.ts";
import { COLLECTOR } from "./telemetry.ts";

/** A secret that only the collector may receive. */
export const KEY = "sk-collector-canary";

/** The end of a step that calls tools. */
export const asked = finish("tool-calls", { input: 60, output: 40 });
/** The end of a step that answers with text. */
export const done = finish("stop", { input: 6, output: 4 });

const { echo: _echo, ...tools } = planTools();

export const agentNamed = (name: string, more: Partial<Agent> = {}): Agent => ({
  name,
  description: `Is ${name}.`,
  instructions: "Help.",
  tools,
  ...more,
});

/** Returns options of a runtime with a clerk and a researcher, whose model answers with these steps. */
export const runtimeOf = (steps: readonly Step[], more: Partial<Agent> = {}): RuntimeOptions => ({
  agents: [agentNamed("clerk", more), agentNamed("researcher")],
  model: scriptedModel(steps),
});

/** Bindings that log each turn and export to a collector. */
export const exporting: Readonly<Record<string, unknown>> = {
  LOG: "turns",
  OTEL_EXPORTER_OTLP_ENDPOINT: `${COLLECTOR}/`,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${KEY}`,
};

/** Runs one turn and returns the streamed text. */
export async function say(
  own: OwnRuntime,
  message = "Hello.",
  headers: Record<string, string> = {},
) {
  const init = json({ message }, headers);
  const response = await own.call("POST", "/conversations/c/messages", init);
  return response.text();
}
