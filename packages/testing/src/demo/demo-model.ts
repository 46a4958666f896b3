import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import type { ModelProvider } from "../../../../src/internal-edge.ts";
import { generated } from "../testing/generated.ts";
import { type Part, streamOf, text, toolCall } from "../testing/stream-parts.ts";
import { nextStep, refusal } from "./next-step.ts";
import { readConversation } from "./read-conversation.ts";
import type { DemoScript } from "./step.ts";

export interface DemoModelOptions {
  /** Delay before each word of text and each piece of a tool's input. Default: 0, no delay. */
  readonly wordDelayMs?: number;
  /** Phrases of the application. They come before the rules; the first that has the question answers. */
  readonly scripts?: readonly DemoScript[];
}

const charsPerToken = 4;
const charsPerInputDelta = 12;

/** `MODEL=demo`, the default: `modelFromSettings(demoModels)`. */
export const demoModels: ModelProvider = { name: "demo", model: () => demoModel() };

/**
 * Creates a model that needs no key and no network: a few rules in place of a language model. It knows some
 * questions about tables, runs SQL as written, and calls the tool whose name shares most words with the text. It
 * refuses the rest, with three things to try. Deterministic: the same prompt and tools give the same stream.
 */
export function demoModel({
  wordDelayMs = 0,
  scripts = [],
}: DemoModelOptions = {}): LanguageModelV4 {
  const partsFor = (options: LanguageModelV4CallOptions) =>
    withDelays(speak(options, scripts), wordDelayMs, options.abortSignal);
  return {
    specificationVersion: "v4",
    provider: "byref",
    modelId: "demo",
    supportedUrls: {},
    doStream: async (options) => ({ stream: streamOf(partsFor(options)) }),
    doGenerate: async (options) => ({
      ...(await generated(partsFor(options))),
      response: { modelId: "demo" },
    }),
  };
}

/** Yields every part of the answer in order, from stream-start to finish. */
function* speak(options: LanguageModelV4CallOptions, scripts: readonly DemoScript[]) {
  const { prompt, tools = [], toolChoice } = options;
  const conversation = readConversation(prompt);
  const seen = { conversation, tools: toolChoice?.type === "none" ? [] : tools };
  const step = nextStep(seen, scripts);
  yield { type: "stream-start", warnings: [] } satisfies Part;
  yield { type: "response-metadata", modelId: "demo" } satisfies Part;
  if (step.kind !== "calls") {
    const said = step.kind === "text" ? step.text : refusal(step.why, seen, scripts);
    yield* text(said, { chunks: Array.from(said.matchAll(/\S+\s*/gu), ([word]) => word) });
    yield finish("stop", options, said.length);
    return;
  }
  let spoken = 0;
  for (const [index, { toolName, input }] of step.calls.entries()) {
    const id = `call_${conversation.nextCallNumber + index}`;
    yield* toolCall(toolName, input, { id, chunks: charsPerInputDelta });
    spoken += toolName.length + JSON.stringify(input).length;
  }
  yield finish("tool-calls", options, spoken);
}

/** Estimates four characters per token, rounded up, because a demo has no tokenizer. */
function finish(unified: "stop" | "tool-calls", sent: Sent, outputChars: number): Part {
  const input = Math.ceil(promptChars(sent) / charsPerToken);
  const output = Math.ceil(outputChars / charsPerToken);
  const usage = {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
  return { type: "finish", finishReason: { unified, raw: unified }, usage };
}

type Sent = Pick<LanguageModelV4CallOptions, "prompt" | "tools">;

/** Counts as `savings.promptChars` does, so that the demo's tokens fit to the characters beside them. */
function promptChars({ prompt, tools = [] }: Sent): number {
  const definitions = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  return prompt.reduce((sum, message) => {
    if (message.role === "system") return sum + message.content.length;
    return message.content.reduce((inner, part) => inner + partChars(part), sum);
  }, definitions);
}

// The demo model reads no files or approvals.
function partChars(
  part: Exclude<LanguageModelV4Prompt[number], { role: "system" }>["content"][number],
): number {
  if (part.type === "text" || part.type === "reasoning") return part.text.length;
  if (part.type === "tool-call") return JSON.stringify(part.input ?? null).length;
  if (part.type !== "tool-result" || !("value" in part.output)) return 0;
  const { value } = part.output;
  return typeof value === "string" ? value.length : JSON.stringify(value).length;
}

async function* withDelays(
  parts: Iterable<Part>,
  wordDelayMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Part, void, undefined> {
  for (const part of parts) {
    const isWord = part.type === "text-delta" || part.type === "tool-input-delta";
    if (isWord && wordDelayMs > 0) await wait(wordDelayMs, signal);
    signal?.throwIfAborted();
    yield part;
  }
}

/** Rejects with the signal's reason as soon as it aborts. */
function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => reject(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  const timer = setTimeout(resolve, milliseconds);
  return promise.finally(() => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  });
}
