/**
 * The example with additions for its test: a view into its tables, a variable that expires soon, and a copy of its
 * variables.
 */
import type { ChatResponseResult } from "@cloudflare/ai-chat";
import { getAgentByName } from "agents";
import { inspect, textOf } from "../agents-sdk/inspect.ts";
import worker, { Chat as ExampleChat } from "./chat.ts";

export default worker;

/** What the agent's own hooks received of its answers. */
const hooks: Record<string, string[]> = { responses: [], messages: [] };

export class Chat extends ExampleChat {
  override onChatResponse({ message }: ChatResponseResult) {
    hooks.responses?.push(textOf(message));
    hooks.messages?.push(...this.messages.map(textOf));
  }

  override async onRequest(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.endsWith("/hooks")) return Response.json(hooks);
    const open = (name: string) => getAgentByName(this.env.Chat, name);
    const inspected = await inspect(this, this.ctx.storage, request, open);
    return inspected ?? super.onRequest(request);
  }

  async importVariables(file: ReadableStream<Uint8Array>): Promise<void> {
    await this.variables.import(file);
  }
}
