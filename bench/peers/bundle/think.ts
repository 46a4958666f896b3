import { Think } from "@cloudflare/think";
import { routeAgentRequest } from "agents";
import { type LanguageModel, tool, type ToolSet } from "ai";
import { z } from "zod";

declare const model: LanguageModel;

/** The smallest Worker of an application, with its own model and tool. Only its size is measured. */
export class Chat extends Think {
  override getModel(): LanguageModel {
    return model;
  }

  override getTools(): ToolSet {
    return {
      tell_time: tool({
        description: "The time now.",
        inputSchema: z.object({ zone: z.string() }),
        execute: ({ zone }) => new Date().toLocaleTimeString("en", { timeZone: zone }),
      }),
    };
  }
}

export default {
  async fetch(request: Request, env: Cloudflare.Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  },
};
