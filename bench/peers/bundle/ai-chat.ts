import { AIChatAgent } from "@cloudflare/ai-chat";
import { routeAgentRequest } from "agents";
import { convertToModelMessages, isStepCount, type LanguageModel, streamText, tool } from "ai";
import { z } from "zod";

declare const model: LanguageModel;

/** The smallest Worker of an application, with its own model and tool. Only its size is measured. */
export class Chat extends AIChatAgent {
  override async onChatMessage(): Promise<Response> {
    const result = streamText({
      model,
      instructions: "Tell the time.",
      messages: await convertToModelMessages(this.messages),
      tools: {
        tell_time: tool({
          description: "The time now.",
          inputSchema: z.object({ zone: z.string() }),
          execute: ({ zone }) => new Date().toLocaleTimeString("en", { timeZone: zone }),
        }),
      },
      stopWhen: isStepCount(5),
    });
    return result.toUIMessageStreamResponse();
  }
}

export default {
  async fetch(request: Request, env: Cloudflare.Env): Promise<Response> {
    return (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 });
  },
};
