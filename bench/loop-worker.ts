import { DurableObject } from "cloudflare:workers";
import {
  createUIMessageStreamResponse,
  streamText,
  toUIMessageStream,
  UI_MESSAGE_STREAM_HEADERS,
} from "ai";
import { createRuntime } from "../src/byref.ts";
import { deltaOf, loadIn } from "./load.ts";
import { pace, pacedModel } from "./paced-model.ts";

/** One Worker, three objects that answer the same question: ours, the SDK's loop, and bytes from memory. */

interface Env extends Cloudflare.Env {
  readonly BARE: DurableObjectNamespace<Bare>;
  readonly RAW: DurableObjectNamespace<Raw>;
}

interface Question {
  readonly message: { readonly parts: readonly { readonly text: string }[] };
}

/** What an application has without Byref: the SDK's loop in an object that keeps nothing. */
export class Bare extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    const { message } = await request.json<Question>();
    const { stream } = streamText({ model: pacedModel, prompt: message.parts[0]?.text ?? "" });
    return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream }) });
  }
}

/** The same bytes at the same speed, and nothing else. */
export class Raw extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    const { message } = await request.json<Question>();
    const load = loadIn(message.parts[0]?.text ?? "");
    const { deltas } = load;
    const paced = pace(load);
    const next = frame({ type: "text-delta", id: "t", delta: deltaOf(load, 0) });
    const encoder = new TextEncoder();
    let said = -1;
    const bytes = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (said >= 0 && said < deltas) await paced(said);
        controller.enqueue(encoder.encode(said === -1 ? FIRST : said < deltas ? next : LAST));
        if (said++ === deltas) controller.close();
      },
    });
    return new Response(bytes, { headers: UI_MESSAGE_STREAM_HEADERS });
  }
}

function frame(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

const FIRST = ["start", "start-step", "text-start"]
  .map((type) => frame({ type, id: "t" }))
  .join("");
const LAST = `${frame({ type: "text-end", id: "t" })}${frame({ type: "finish" })}data: [DONE]\n\n`;

const runtime = createRuntime({
  model: pacedModel,
  agents: [{ name: "bench", description: "Says words.", instructions: "Say words.", tools: {} }],
});

export class Conversation extends runtime.Conversation {}

export default {
  fetch(request: Request, env: Env, context: ExecutionContext): Response | Promise<Response> {
    const [, kind, name = ""] = new URL(request.url).pathname.split("/");
    if (kind === "bare") return env.BARE.get(env.BARE.idFromName(name)).fetch(request);
    if (kind === "raw") return env.RAW.get(env.RAW.idFromName(name)).fetch(request);
    return runtime.worker.fetch(request, env, context);
  },
};
