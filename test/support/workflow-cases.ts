import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { asSchema, type ToolSet } from "ai";
import * as z from "zod";
import { failure, type OfferedTool, textResult } from "./mcp-server.ts";
import { specified } from "./plan-runs.ts";
import { toolOf } from "./tool-of.ts";

/** The tools that the workflows in `test/cases/workflows` call. */
export const workflowTools: ToolSet = {
  ...specified,
  memory_recall: toolOf({ query: z.string() }, ({ query }) => `my ${query}`),
  web_generate: toolOf({ content: z.string() }, ({ content }) => `# ${content}`),
  filesystem_write: toolOf({ path: z.string(), content: z.string() }, ({ path }) => ({ path })),
};

/** Returns the same tools in the form that an MCP server offers. */
export async function offeredTools(): Promise<readonly OfferedTool[]> {
  const all = Object.entries(workflowTools).map(async ([name, { inputSchema, execute }]) => ({
    name,
    // An object schema, as MCP requires.
    inputSchema: (await asSchema(inputSchema).jsonSchema) as Tool["inputSchema"],
    answer: async (input: unknown) => {
      try {
        const output: unknown = await execute?.(input as never, {} as never);
        return textResult(JSON.stringify(output));
      } catch (error) {
        return failure(String(error));
      }
    },
  }));
  return Promise.all(all);
}
