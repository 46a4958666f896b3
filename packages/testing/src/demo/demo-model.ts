import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { delay } from "@ai-sdk/provider-utils";
import type { ModelProvider } from "../../../../src/internal-edge.ts";
import { toolOutputs, accounts } from "../../../../src/internal-tool.ts";
import { finish, modelOf, type Part, text, toolCall } from "../testing/stream-parts.ts";
import { nextStep, refusal } from "./next-step.ts";
import { type DemoScript, readConversation } from "./read-conversation.ts";

export interface DemoModelOptions {
  /** Delay before each word of text and each piece of a tool's input. Default: 0, no delay. */
  readonly wordDelayMs?: number;
  /** Phrases of the application. They come before the rules; the first that has the question answers. */
  readonly scripts?: readonly DemoScript[];
}

const CHARS_PER_INPUT_DELTA = 12;

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
  return modelOf("byref", "demo", (options) =>
    withDelays(speak(options, scripts), wordDelayMs, options.abortSignal),
  );
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
    yield* finish("stop", tokensOf(options, said.length));
    return;
  }
  let spoken = 0;
  for (const [index, { toolName, input }] of step.calls.entries()) {
    const id = `call_${conversation.nextCallNumber + index}`;
    yield* toolCall(toolName, input, { id, chunks: CHARS_PER_INPUT_DELTA });
    spoken += toolName.length + JSON.stringify(input).length;
  }
  yield* finish("tool-calls", tokensOf(options, spoken));
}

/** Estimates four characters per token, rounded up, because a demo has no tokenizer. */
function tokensOf({ prompt, tools }: LanguageModelV4CallOptions, outputChars: number) {
  const chars = prompt.reduce(
    (sum, one) => sum + accounts.charsOfMessage(one),
    accounts.charsOfTools(tools),
  );
  const [input = 0, output = 0] = [chars, outputChars].map((n) =>
    Math.ceil(n / toolOutputs.CHARS_PER_TOKEN),
  );
  return { input, cached: 0, output };
}

async function* withDelays(
  parts: Iterable<Part>,
  wordDelayMs: number,
  abortSignal: AbortSignal | undefined,
): AsyncGenerator<Part, void, undefined> {
  for (const part of parts) {
    const isWord = part.type === "text-delta" || part.type === "tool-input-delta";
    // The abort's own reason is thrown below.
    if (isWord && wordDelayMs > 0)
      await delay(wordDelayMs, abortSignal && { abortSignal }).catch(() => undefined);
    abortSignal?.throwIfAborted();
    yield part;
  }
}
