import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { AIChatAgent } from "@cloudflare/ai-chat";
import { routeAgentRequest } from "agents";
import { convertToModelMessages, isStepCount, streamText, tool } from "ai";
import { demoModel } from "byref/demo";
import { conversationVariables } from "byref/durable";
import * as z from "zod";

/** Put your own data here. */
const tickets = Array.from({ length: 500 }, (_, index) => ({
  id: `T-${1001 + index}`,
  status: index % 3 === 0 ? "open" : "closed",
  country: ["DE", "FR", "US", "JP"][index % 4],
  hours: (index * 7) % 40,
}));

const tools = {
  list_tickets: tool({
    description: "Lists all tickets.",
    inputSchema: z.object({}),
    execute: () => tickets,
  }),
  // The model passes "$list_tickets_1[*].id", and never sees the ids.
  count_ids: tool({
    description: "Counts ids.",
    inputSchema: z.object({ ids: z.array(z.string()) }),
    execute: ({ ids }) => ({ count: ids.length }),
  }),
};

export class Chat extends AIChatAgent<Env> {
  variables = conversationVariables(this.ctx, { agent: this });

  override async onChatMessage(): Promise<Response> {
    const result = streamText({
      model: modelOf(this.env),
      instructions: "You work at a help desk.",
      messages: await convertToModelMessages(this.messages),
      tools: { ...this.variables.wrap(tools), ...this.variables.tools() },
      prepareStep: this.variables.prepareStep,
      stopWhen: isStepCount(10),
    });
    return this.variables.expand(result.toUIMessageStreamResponse());
  }
}

function modelOf({ MODEL, MODEL_BASE_URL: baseURL, MODEL_API_KEY: apiKey }: Env) {
  const id = MODEL.replace(/^openai-compatible:/, "");
  return MODEL === "demo"
    ? demoModel()
    : createOpenAICompatible({ name: "model", baseURL, apiKey })(id);
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
