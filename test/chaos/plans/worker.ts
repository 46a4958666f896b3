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
import { finish, scriptedModel, text } from "../../../src/testing.ts";

// The test binds it, and nobody else.
const { WORLD_URL, WORKFLOW } = env as unknown as { WORLD_URL: string; WORKFLOW: string };

const inputSchema = z.object({ call: z.string(), from: z.array(z.string()).default([]) });

/** Has the work done, and noted, by the process that runs the test. */
async function done(work: object, options: ToolExecutionOptions<unknown>): Promise<string> {
  // The runtime adds it to what the SDK has.
  const { idempotencyKey: key = "" } = options as { idempotencyKey?: string };
  const response = await fetch(WORLD_URL, {
    method: "POST",
    body: JSON.stringify({ ...work, key }),
  });
  return response.text();
}

const worldTool = tool({ inputSchema, execute: done });

/** The tools of the workflow. */
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
 * Writes the whole workflow in its first answer, and another one when it has the results. What a step of a
 * template is answered with is work, too.
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
