import { DurableObject } from "cloudflare:workers";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import {
  createUIMessageStreamResponse,
  streamText,
  toUIMessageStream,
  UI_MESSAGE_STREAM_HEADERS,
} from "ai";
import { createRuntime } from "../src/byref.ts";
import { DELTA, type Load, loadIn } from "./loop-load.ts";

/** One Worker, three objects that answer the same question: ours, the SDK's loop, and bytes from memory. */

interface Env extends Cloudflare.Env {
  readonly BARE: DurableObjectNamespace<Bare>;
  readonly RAW: DurableObjectNamespace<Raw>;
}

interface Question {
  readonly message: { readonly parts: readonly { readonly text: string }[] };
}

/**
 * Lets deltas be ready at times that do not depend on who reads them: a provider waits for nobody, and what
 * it sent meanwhile is there at once.
 */
function pace({ gapMs }: Load): (delta: number) => Promise<void> | undefined {
  const startMs = Date.now();
  return (delta) => {
    const waitMs = startMs + (delta + 1) * gapMs - Date.now();
    if (waitMs <= 0) return undefined;
    return new Promise((resolve) => setTimeout(resolve, waitMs));
  };
}

/** Says what the last message asks for: so many deltas, so far apart. */
const model: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "bench",
  modelId: "bench",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("It only streams.")),
  doStream: async ({ prompt }) => {
    const load = loadIn(JSON.stringify(prompt.at(-1)?.content));
    return { stream: partsOf(load) };
  },
};

function partsOf(load: Load): ReadableStream<LanguageModelV4StreamPart> {
  const { deltas } = load;
  const paced = pace(load);
  let said = -1;
  return new ReadableStream({
    async pull(controller) {
      if (said === -1) controller.enqueue({ type: "text-start", id: "t" });
      else if (said < deltas) {
        await paced(said);
        controller.enqueue({ type: "text-delta", id: "t", delta: DELTA });
      } else {
        controller.enqueue({ type: "text-end", id: "t" });
        controller.enqueue({ type: "finish", finishReason: STOP, usage: USAGE });
        controller.close();
      }
      said++;
    },
  });
}

const STOP = { unified: "stop", raw: "stop" } as const;
const USAGE = {
  inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: undefined, reasoning: undefined },
};

/** What an application has without Byref: the SDK's loop in an object that keeps nothing. */
export class Bare extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    const { message } = await request.json<Question>();
    const { stream } = streamText({ model, prompt: message.parts[0]?.text ?? "" });
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
    const encoder = new TextEncoder();
    let said = -1;
    const bytes = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (said >= 0 && said < deltas) await paced(said);
        controller.enqueue(encoder.encode(said === -1 ? FIRST : said < deltas ? NEXT : LAST));
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
const NEXT = frame({ type: "text-delta", id: "t", delta: DELTA });
const LAST = `${frame({ type: "text-end", id: "t" })}${frame({ type: "finish" })}data: [DONE]\n\n`;

const runtime = createRuntime({
  model,
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
