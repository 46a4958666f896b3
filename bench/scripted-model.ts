import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { deltaOf, type Load, loadIn, questionFor } from "./load.ts";
import { type Prompt, recordPrompt } from "./meter.ts";

/** A model that answers as the last question requests: first its calls, then its deltas at the given interval. */
export const scriptedModel: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "bench",
  modelId: "bench",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("It only streams.")),
  doStream: async (options) => {
    recordPrompt(() => sentIn(options));
    const { load, results } = askedIn(options.prompt);
    const calls = (load.calls ?? 0) - results;
    if (calls <= 0) return { stream: partsOf(load) };
    return { stream: callsOf(load, { first: results, count: load.isSerial === true ? 1 : calls }) };
  },
};

/**
 * Makes deltas ready at times that do not depend on the reader: a provider does not wait, and deltas sent
 * meanwhile are available at once.
 */
function pace({ gapMs }: Load): (delta: number) => Promise<void> | undefined {
  const startMs = Date.now();
  return (delta) => {
    const waitMs = startMs + (delta + 1) * gapMs - Date.now();
    if (waitMs <= 0) return undefined;
    return new Promise((resolve) => setTimeout(resolve, waitMs));
  };
}

/** The input that a provider counts: text unchanged, other parts and tools as JSON. */
function sentIn({ prompt, tools = [] }: LanguageModelV4CallOptions): Prompt {
  const messages = prompt.map(({ content }) => {
    if (typeof content === "string") return content;
    return content
      .map((part) => (part.type === "text" ? part.text : JSON.stringify(part)))
      .join("\n");
  });
  return {
    messages: messages.join("\n"),
    tools: tools.map((tool) => JSON.stringify(tool)).join("\n"),
  };
}

/** Finds the question. It is not always the last message: results and the list of variables follow it. */
function askedIn(prompt: LanguageModelV4Prompt): { load: Load; results: number } {
  for (let index = prompt.length - 1; index >= 0; index--) {
    const message = prompt[index];
    const text = message?.role === "user" ? JSON.stringify(message.content) : "";
    if (!text.includes("deltas=")) continue;
    const results = prompt
      .slice(index)
      .reduce((sum, { role, content }) => sum + (role === "tool" ? content.length : 0), 0);
    return { load: loadIn(text), results };
  }
  throw new Error(`Nothing was asked: ${questionFor({ deltas: 1, gapMs: 0 })} would be.`);
}

function callsOf(
  { tool: toolName = "", word = "" }: Load,
  { first, count }: { readonly first: number; readonly count: number },
): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (let index = first; index < first + count; index++) {
        const input = JSON.stringify({ about: `thing ${index}` });
        const toolCallId = `call_${word}${index}`;
        controller.enqueue({ type: "tool-call", toolCallId, toolName, input });
      }
      controller.enqueue({ type: "finish", finishReason: TOOL_CALLS, usage: USAGE });
      controller.close();
    },
  });
}

function partsOf(load: Load): ReadableStream<LanguageModelV4StreamPart> {
  const { deltas } = load;
  const paced = pace(load);
  let sent = -1;
  return new ReadableStream({
    async pull(controller) {
      if (sent === -1) controller.enqueue({ type: "text-start", id: "t" });
      else if (sent < deltas) {
        await paced(sent);
        controller.enqueue({ type: "text-delta", id: "t", delta: deltaOf(load, sent) });
      } else {
        controller.enqueue({ type: "text-end", id: "t" });
        controller.enqueue({ type: "finish", finishReason: STOP, usage: USAGE });
        controller.close();
      }
      sent++;
    },
  });
}

const STOP = { unified: "stop", raw: "stop" } as const;
const TOOL_CALLS = { unified: "tool-calls", raw: "tool_calls" } as const;
const USAGE = {
  inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: undefined, reasoning: undefined },
};
