import { DurableObject } from "cloudflare:workers";
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
  type UIMessage,
} from "ai";
import * as z from "zod";
import { metered, type MeterEnv } from "./meter.ts";
import { REPORT_CHARS, reportOf, SMALL } from "./report.ts";
import { scriptedModel } from "./scripted-model.ts";

/** What an application has without Byref: the SDK's loop in an object that keeps nothing. */
export class Bare extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    const { message } = await request.json<{ readonly message: string }>();
    const { stream } = streamText({ model: scriptedModel, prompt: message });
    return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream }) });
  }
}

const about = z.object({ about: z.string() });
const tools = {
  check: tool({ description: "Checks a thing.", inputSchema: about, execute: () => SMALL }),
  fetch_report: tool({
    description: "All orders.",
    inputSchema: about,
    execute: () => reportOf(REPORT_CHARS),
  }),
};

/** The same with a history, as the SDK's documentation has it: all messages are kept at the turn's end. */
export class Kept extends DurableObject<MeterEnv> {
  constructor(state: DurableObjectState, env: MeterEnv) {
    super(metered(state, env), env);
  }

  override async fetch(request: Request): Promise<Response> {
    const { kv } = this.ctx.storage;
    const kept = kv.get<UIMessage[]>("messages") ?? [];
    if (request.method === "GET") return Response.json(kept);
    const { message } = await request.json<{ readonly message: string }>();
    const asked: UIMessage = {
      id: crypto.randomUUID(),
      role: "user",
      parts: [{ type: "text", text: message }],
    };
    const messages = [...kept, asked];
    const { stream } = streamText({
      model: scriptedModel,
      instructions: "Say words.",
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
