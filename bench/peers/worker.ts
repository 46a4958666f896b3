import { AIChatAgent } from "@cloudflare/ai-chat";
import { Think } from "@cloudflare/think";
import { routeAgentRequest } from "agents";
import {
  convertToModelMessages,
  isStepCount,
  type LanguageModel,
  type ModelMessage,
  pruneMessages,
  streamText,
  tool,
  type ToolSet,
} from "ai";
import { z } from "zod";
import { answerMeter, metered, type MeterEnv } from "../meter.ts";
import { REPORT, SMALL } from "../report.ts";
import { scriptedModel } from "../scripted-model.ts";

/**
 * The peers, set up as in their documentation, each also with its documented option for long contexts:
 * `pruneMessages` (README of `@cloudflare/ai-chat`, "Controlling LLM context"), `truncationStep = 1` (Think's
 * documentation, "Prompt caching").
 */

const about = z.object({ about: z.string() });
const tools: ToolSet = {
  check: tool({ description: "Checks a thing.", inputSchema: about, execute: () => SMALL }),
  fetch_report: tool({
    description: "All orders.",
    inputSchema: about,
    execute: () => REPORT,
  }),
};

export class Chat extends AIChatAgent<MeterEnv> {
  constructor(state: DurableObjectState, env: MeterEnv) {
    super(metered(state, env), env);
  }

  override async onChatMessage(): Promise<Response> {
    const result = streamText({
      model: scriptedModel,
      instructions: "Say words.",
      messages: this.chosen(await convertToModelMessages(this.messages)),
      tools: this.env.TOOLS === "on" ? tools : {},
      stopWhen: isStepCount(10),
    });
    return result.toUIMessageStreamResponse();
  }

  protected chosen(messages: ModelMessage[]): ModelMessage[] {
    return messages;
  }
}

export class PrunedChat extends Chat {
  protected override chosen(messages: ModelMessage[]): ModelMessage[] {
    return pruneMessages({
      messages,
      reasoning: "before-last-message",
      toolCalls: "before-last-2-messages",
    });
  }
}

export class Thinker extends Think<MeterEnv> {
  constructor(state: DurableObjectState, env: MeterEnv) {
    super(metered(state, env), env);
  }

  override getModel(): LanguageModel {
    return scriptedModel;
  }

  override getSystemPrompt(): string {
    return "Say words.";
  }

  override getTools(): ToolSet {
    return this.env.TOOLS === "on" ? tools : {};
  }
}

export class ShortThinker extends Thinker {
  override truncationStep = 1;
}

export default {
  async fetch(request: Request, env: MeterEnv): Promise<Response> {
    return (
      answerMeter(request, env) ??
      (await routeAgentRequest(request, env)) ??
      new Response("Not found", { status: 404 })
    );
  },
};
