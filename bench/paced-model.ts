import type {
  LanguageModelV4,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { deltaOf, type Load, loadIn, questionFor } from "./load.ts";

/** Says what the last question asks for: first its calls, then so many deltas, so far apart. */
export const pacedModel: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "bench",
  modelId: "bench",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("It only streams.")),
  doStream: async ({ prompt }) => {
    const { load, hasResults } = askedIn(prompt);
    const calls = hasResults ? 0 : (load.calls ?? 0);
    return { stream: calls > 0 ? callsOf(calls) : partsOf(load) };
  },
};

/**
 * Lets deltas be ready at times that do not depend on who reads them: a provider waits for nobody, and what
 * it sent meanwhile is there at once.
 */
export function pace({ gapMs }: Load): (delta: number) => Promise<void> | undefined {
  const startMs = Date.now();
  return (delta) => {
    const waitMs = startMs + (delta + 1) * gapMs - Date.now();
    if (waitMs <= 0) return undefined;
    return new Promise((resolve) => setTimeout(resolve, waitMs));
  };
}

/** The question is not always the last message: results follow it, and so does the list of variables. */
function askedIn(prompt: LanguageModelV4Prompt): { load: Load; hasResults: boolean } {
  for (let index = prompt.length - 1; index >= 0; index--) {
    const message = prompt[index];
    const text = message?.role === "user" ? JSON.stringify(message.content) : "";
    if (!text.includes("deltas=")) continue;
    const hasResults = prompt.slice(index).some(({ role }) => role === "tool");
    return { load: loadIn(text), hasResults };
  }
  throw new Error(`Nothing was asked: ${questionFor({ deltas: 1, gapMs: 0 })} would be.`);
}

function callsOf(count: number): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (let index = 0; index < count; index++) {
        const input = JSON.stringify({ about: `thing ${index}` });
        const call = { toolCallId: `call_${index}`, toolName: "look_up", input };
        controller.enqueue({ type: "tool-call", ...call });
      }
      controller.enqueue({ type: "finish", finishReason: TOOL_CALLS, usage: USAGE });
      controller.close();
    },
  });
}

function partsOf(load: Load): ReadableStream<LanguageModelV4StreamPart> {
  const { deltas } = load;
  const paced = pace(load);
  let said = -1;
  return new ReadableStream({
    async pull(controller) {
      if (said === -1) controller.enqueue({ type: "text-start", id: "t" });
      else if (said < deltas) {
        await paced(said);
        controller.enqueue({ type: "text-delta", id: "t", delta: deltaOf(load, said) });
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
const TOOL_CALLS = { unified: "tool-calls", raw: "tool_calls" } as const;
const USAGE = {
  inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: undefined, reasoning: undefined },
};
