import { env } from "cloudflare:workers";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { tool, type ToolExecutionOptions } from "ai";
import * as z from "zod";
import {
  capabilityTags,
  capabilityWorkflows,
  createRuntime,
  planSupport,
  templates,
} from "../../../src/byref.ts";
import { finish, scriptedModel, text } from "../../../packages/testing/src/testing.ts";

// Bound only by the test.
const { WORLD_URL, WORKFLOW } = env as unknown as { WORLD_URL: string; WORKFLOW: string };

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

const workflowTools = {
  memory_recall: tool({
    inputSchema: z.object({ query: z.string() }),
    execute: ({ query }, options) => done({ call: `memory_recall ${query}` }, options),
  }),
  web_generate: tool({
    inputSchema: z.object({ content: z.string() }),
    execute: (input, options) => done({ call: "web_generate", ...input }, options),
  }),
  filesystem_write: tool({
    inputSchema: z.object({ path: z.string(), content: z.string() }),
    execute: (input, options) => done({ call: "filesystem_write", ...input }, options),
  }),
};

/**
 * Answers with the whole workflow, and with "Done." once it has the results. The answer to a step of a
 * template comes from the test's process, as the work of a call does.
 */
const model: LanguageModelV4 = {
  ...scriptedModel([]),
  doStream: async (options) => {
    const prompt = JSON.stringify(options.prompt);
    const [, call] = /Do (step_\w+)/.exec(prompt) ?? [];
    if (call !== undefined) {
      const answer = await done({ call }, { idempotencyKey: call } as never);
      return scriptedModel([[text(answer), finish()]]).doStream(options);
    }
    const hasResults = prompt.includes('<capability-result call=\\"1');
    return scriptedModel([[text(hasResults ? "Done." : WORKFLOW), finish()]]).doStream(options);
  },
};

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
    {
      name: "writer",
      description: "Writes workflows.",
      instructions: "",
      tools: workflowTools,
      effects: {
        memory_recall: "none",
        web_generate: "idempotent",
        filesystem_write: "idempotent",
      },
      toolCalls: capabilityTags,
      approvesPlan: () => true,
    },
  ],
  plans: planSupport(capabilityWorkflows, templates),
  model,
});

export class Conversation extends runtime.Conversation {}

export default runtime.worker;
