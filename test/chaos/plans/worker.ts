import { env } from "cloudflare:workers";
import { tool, type ToolExecutionOptions } from "ai";
import * as z from "zod";
import { demoModels } from "../../../examples/demo-model/demo-model.ts";
import { createRuntime, modelFromSettings, planSupport } from "../../../src/byref.ts";

// The test binds it, and nobody else.
const { WORLD_URL } = env as unknown as { WORLD_URL: string };

const inputSchema = z.object({ call: z.string(), from: z.array(z.string()).default([]) });

/** A tool whose work is done, and noted, by the process that runs the test. */
const worldTool = tool({
  inputSchema,
  execute: async (input, options) => {
    // The runtime adds it to what the SDK has.
    const { idempotencyKey = "" } = options as ToolExecutionOptions<unknown> & {
      idempotencyKey?: string;
    };
    const body = JSON.stringify({ ...input, key: idempotencyKey });
    const response = await fetch(WORLD_URL, { method: "POST", body });
    return response.text();
  },
});

const runtime = createRuntime({
  agents: [
    {
      name: "worker",
      description: "Works.",
      instructions: "",
      tools: { look: worldTool, write: worldTool, pay: worldTool },
      effects: { look: "none", write: "idempotent" },
      approvesPlan: () => true,
    },
  ],
  plans: planSupport(),
  model: modelFromSettings(demoModels),
});

export class Conversation extends runtime.Conversation {}

export default runtime.worker;
