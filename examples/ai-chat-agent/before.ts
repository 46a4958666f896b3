import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { AIChatAgent } from "@cloudflare/ai-chat";
import { routeAgentRequest } from "agents";
import { convertToModelMessages, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { ordersOf } from "../agents-sdk/orders.ts";

const tools = {
  list_orders: tool({
    description: "All orders of the shop.",
    inputSchema: z.object({}),
    execute: () => ordersOf(200_000),
  }),
  ship_orders: tool({
    description: "Ships orders.",
    inputSchema: z.object({ ids: z.array(z.string()) }),
    execute: ({ ids }) => ({ shipped: ids.length }),
  }),
  cancel_order: tool({
    description: "Cancels an order.",
    inputSchema: z.object({ id: z.string() }),
    needsApproval: true,
    execute: ({ id }) => ({ cancelled: id }),
  }),
};

export class Chat extends AIChatAgent<Env> {
  override async onChatMessage(): Promise<Response> {
    const { MODEL, MODEL_BASE_URL, MODEL_API_KEY } = this.env;
    const result = streamText({
      model: createOpenAICompatible({
        name: "shop",
        baseURL: MODEL_BASE_URL,
        apiKey: MODEL_API_KEY,
      })(MODEL),
      instructions: "You help the people of a shop.",
      messages: await convertToModelMessages(this.messages),
      tools,
      stopWhen: isStepCount(10),
    });
    return result.toUIMessageStreamResponse();
  }
}

interface Env {
  readonly Chat: DurableObjectNamespace<Chat>;
  readonly MODEL: string;
  readonly MODEL_BASE_URL: string;
  readonly MODEL_API_KEY: string;
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
