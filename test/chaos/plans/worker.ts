import { env } from "cloudflare:workers";
import { tool, type ToolExecutionOptions } from "ai";
import * as z from "zod";
import { createRuntime, planSupport } from "../../../src/byref.ts";
import { scriptedModel } from "../../../packages/testing/src/testing.ts";

// Bound only by the test.
const { WORLD_URL } = env as unknown as { WORLD_URL: string };

const inputSchema = z.object({ call: z.string(), from: z.array(z.string()).default([]) });

/** Lets the process that runs the test do and record the work. */
async function done(work: object, options: ToolExecutionOptions<unknown>): Promise<string> {
  // The runtime adds the key to the options of the SDK.
  const { idempotencyKey: key = "" } = options as { idempotencyKey?: string };
  const response = await fetch(WORLD_URL, {
    method: "POST",
    body: JSON.stringify({ ...work, key }),
  });
  return response.text();
}

const worldTool = tool({ inputSchema, execute: done });

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
  model: scriptedModel([]),
});

export class Conversation extends runtime.Conversation {}

export default runtime.worker;
