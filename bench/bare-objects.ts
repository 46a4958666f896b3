import { DurableObject } from "cloudflare:workers";
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  toUIMessageStream,
  type UIMessage,
} from "ai";
import { metered, type MeterEnv } from "./meter.ts";
import { scriptedModel } from "./scripted-model.ts";
import { INSTRUCTIONS, shopTools as tools } from "./shop.ts";

/** An application without Byref: the SDK's loop in an object that stores nothing. */
export class Bare extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    const { message } = await request.json<{ readonly message: string }>();
    const { stream } = streamText({ model: scriptedModel, prompt: message });
    return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream }) });
  }
}

/** The SDK's loop with a history, as in the SDK's documentation: all messages are stored at the end of the turn. */
export class Kept extends DurableObject<MeterEnv> {
  constructor(state: DurableObjectState, env: MeterEnv) {
    super(metered(state, env), env);
  }

  override async fetch(request: Request): Promise<Response> {
    const { kv } = this.ctx.storage;
    const kept = kv.get<UIMessage[]>("messages") ?? [];
    if (request.method === "GET") return Response.json(kept);
    const { message } = await request.json<{ readonly message: string }>();
    const question: UIMessage = {
      id: crypto.randomUUID(),
      role: "user",
      parts: [{ type: "text", text: message }],
    };
    const messages = [...kept, question];
    const { stream } = streamText({
      model: scriptedModel,
      instructions: INSTRUCTIONS,
      messages: await convertToModelMessages(messages, { tools }),
      tools,
      stopWhen: isStepCount(10),
    });
    return createUIMessageStreamResponse({
      stream: toUIMessageStream({
        stream,
        tools,
        originalMessages: messages,
        onEnd: ({ messages: all }) => kv.put("messages", all),
      }),
    });
  }
}
