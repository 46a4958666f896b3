import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Think } from "@cloudflare/think";
import { routeAgentRequest } from "agents";
import { tool } from "ai";
import { conversationVariables } from "byref/durable";
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
};

export class Thinker extends Think<Env> {
  variables = conversationVariables(this.ctx, { agent: this });
  override beforeTurn = () => ({ experimental_transform: this.variables.transform });
  override beforeStep = this.variables.prepareStep;

  override getModel() {
    const { MODEL, MODEL_BASE_URL: baseURL, MODEL_API_KEY: apiKey } = this.env;
    return createOpenAICompatible({ name: "shop", baseURL, apiKey })(MODEL);
  }

  override getSystemPrompt() {
    return "You help the people of a shop.";
  }

  override getTools() {
    return { ...this.variables.wrap(tools), ...this.variables.tools() };
  }
}

interface Env {
  readonly Thinker: DurableObjectNamespace<Thinker>;
  readonly MODEL: string;
  readonly MODEL_BASE_URL: string;
  readonly MODEL_API_KEY: string;
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
