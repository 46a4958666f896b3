import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type { ModelProvider } from "../../../../src/edge/models/model.ts";
import { abilities, introduction } from "./introduce.ts";
import { nextStep } from "./next-step.ts";
import { readConversation } from "./read-conversation.ts";
import type { DemoScript, DemoStep } from "./step.ts";

export interface DemoModelOptions {
  /** Delay before each word of text and each piece of a tool's input. Default: 0, no delay. */
  readonly wordDelayMs?: number;
  /** Phrases of the application. They come before the rules; the first that has the question answers. */
  readonly scripts?: readonly DemoScript[];
}

type Step = Exclude<DemoStep, { kind: "refusal" }>;

type SpokenCall = { readonly id: string; readonly toolName: string; readonly input: string };

const charsPerToken = 4;
const charsPerInputDelta = 12;

/** `MODEL=demo`, the default: `modelFromSettings(demoModels)`. */
export const demoModels: ModelProvider = { name: "demo", model: () => demoModel() };

/**
 * Creates a model that needs no key and no network: it uses rules instead of a language model. It calls tools whose
 * names and schemas contain the words of the question, queries tables that the prompt shows, and answers by
 * reference. It refuses a question with a word that it does not recognize, and lists what can be asked.
 * Deterministic: the same prompt and tools give the same stream.
 */
export function demoModel({
  wordDelayMs = 0,
  scripts = [],
}: DemoModelOptions = {}): LanguageModelV4 {
  const partsFor = (options: LanguageModelV4CallOptions) =>
    withDelays(speak(decide(options, scripts), options), wordDelayMs, options.abortSignal);
  return {
    specificationVersion: "v4",
    provider: "byref",
    modelId: "demo",
    supportedUrls: {},
    doStream: async (options) => ({ stream: streamOf(partsFor(options)) }),
    doGenerate: (options) => collect(partsFor(options)),
  };
}

function decide(
  { prompt, tools = [], toolChoice }: LanguageModelV4CallOptions,
  scripts: readonly DemoScript[],
): Step {
  const offered = toolChoice?.type === "none" ? [] : tools;
  const known = { conversation: readConversation(prompt), tools: offered };
  const step = nextStep(known, scripts);
  if (step.kind === "calls" || step.kind === "text") return step;
  const isRefusal = step.kind === "refusal";
  const why = isRefusal ? `${step.why.replace(/\.$/u, "")}. ` : introduction(step.why);
  return { kind: "text", text: why + abilities(known, scripts) };
}

/** Yields every part of the answer in order, from stream-start to finish. */
function* speak(step: Step, sent: Sent): Generator<LanguageModelV4StreamPart> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "response-metadata", modelId: "demo" };
  if (step.kind === "text") {
    yield* speakText(step.text);
    yield finish("stop", sent, step.text.length);
    return;
  }
  const calls = spokenCalls(step, readConversation(sent.prompt).nextCallNumber);
  for (const call of calls) yield* speakCall(call);
  const spoken = calls.reduce((sum, call) => sum + call.toolName.length + call.input.length, 0);
  yield finish("tool-calls", sent, spoken);
}

function spokenCalls(step: Extract<Step, { kind: "calls" }>, firstNumber: number): SpokenCall[] {
  return step.calls.map(({ toolName, input }, index) => ({
    id: `call_${firstNumber + index}`,
    toolName,
    input: JSON.stringify(input),
  }));
}

function* speakText(text: string): Generator<LanguageModelV4StreamPart> {
  const id = "text_1";
  yield { type: "text-start", id };
  for (const [delta] of text.matchAll(/\S+\s*/gu)) yield { type: "text-delta", id, delta };
  yield { type: "text-end", id };
}

function* speakCall({ id, toolName, input }: SpokenCall): Generator<LanguageModelV4StreamPart> {
  yield { type: "tool-input-start", id, toolName };
  // Splits by code point: half a surrogate pair cannot be encoded as UTF-8.
  const characters = Array.from(input);
  for (let from = 0; from < characters.length; from += charsPerInputDelta) {
    const delta = characters.slice(from, from + charsPerInputDelta).join("");
    yield { type: "tool-input-delta", id, delta };
  }
  yield { type: "tool-input-end", id };
  yield { type: "tool-call", toolCallId: id, toolName, input };
}

function finish(
  unified: "stop" | "tool-calls",
  sent: Sent,
  outputChars: number,
): LanguageModelV4StreamPart {
  const finishReason: LanguageModelV4FinishReason = { unified, raw: unified };
  return { type: "finish", finishReason, usage: usageOf(promptChars(sent), outputChars) };
}

/** Estimates four characters per token, rounded up, because a demo has no tokenizer. */
function usageOf(inputChars: number, outputChars: number): LanguageModelV4Usage {
  const input = Math.ceil(inputChars / charsPerToken);
  const output = Math.ceil(outputChars / charsPerToken);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
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

function partChars(
  part: Exclude<LanguageModelV4Prompt[number], { role: "system" }>["content"][number],
): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.length;
    case "tool-call":
      return JSON.stringify(part.input ?? null).length;
    case "tool-result":
      return resultChars(part.output);
    default:
      // The demo model reads no files or approvals.
      return 0;
  }
}

function resultChars(output: LanguageModelV4ToolResultOutput): number {
  if (!("value" in output)) return 0;
  return typeof output.value === "string"
    ? output.value.length
    : JSON.stringify(output.value).length;
}

async function* withDelays(
  parts: Iterable<LanguageModelV4StreamPart>,
  wordDelayMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<LanguageModelV4StreamPart, void, undefined> {
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

// Reads nothing ahead, so that an abort takes effect at the next part.
function streamOf(
  parts: AsyncGenerator<LanguageModelV4StreamPart, void, undefined>,
): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream(
    {
      async pull(controller) {
        const next = await parts.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await parts.return();
      },
    },
    { highWaterMark: 0 },
  );
}

async function collect(
  parts: AsyncIterable<LanguageModelV4StreamPart>,
): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = [];
  let text = "";
  for await (const part of parts) {
    if (part.type === "text-delta") text += part.delta;
    if (part.type === "text-end") content.push({ type: "text", text });
    if (part.type === "tool-call") content.push(part);
    if (part.type !== "finish") continue;
    const { finishReason, usage } = part;
    return { content, finishReason, usage, warnings: [], response: { modelId: "demo" } };
  }
  throw new Error("The demo model's stream ended without a finish part");
}
