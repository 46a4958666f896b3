import { env } from "cloudflare:workers";
import { tool, type ToolExecutionOptions } from "ai";
import * as z from "zod";
import { createRuntime, modelFromSettings, planSupport } from "../../../src/byref.ts";
import { openaiCompatibleModels } from "../../../packages/providers/src/openai-compatible.ts";
import { TOOLS, type ToolName } from "./script.ts";

// Bound only by the test.
const { WORLD_URL } = env as unknown as { WORLD_URL: string };

/** Identifies the call; the world knows the rest. */
const inputSchema = z.object({ turn: z.string(), call: z.string() });

/** Returns a tool whose work is done and recorded by the process that runs the test. */
function worldTool(name: ToolName) {
  return tool({
    description: `Does ${name} in the world.`,
    inputSchema,
    ...(TOOLS[name].needsApproval ? { needsApproval: true } : {}),
    execute: async (input, options) => {
      // The runtime adds the key to the options of the SDK.
      const { idempotencyKey } = options as ToolExecutionOptions<unknown> & {
        idempotencyKey?: string;
      };
      const response = await fetch(`${WORLD_URL}/tools/${name}`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": idempotencyKey ?? "" },
        body: JSON.stringify(input),
      });
      if (!response.ok) throw new Error(`The world answers ${response.status}.`);
      return response.json();
    },
  });
}

const names = Object.keys(TOOLS) as ToolName[];

const runtime = createRuntime({
  agents: [
    {
      name: "worker",
      description: "Does what the script of the test says.",
      instructions: "Do what you are asked.",
      tools: Object.fromEntries(names.map((name) => [name, worldTool(name)])),
      effects: Object.fromEntries(names.map((name) => [name, TOOLS[name].effects])),
      variableTools: false,
    },
  ],
  model: modelFromSettings(openaiCompatibleModels),
  plans: planSupport(),
});

export class Conversation extends runtime.Conversation {}

export default runtime.worker;
