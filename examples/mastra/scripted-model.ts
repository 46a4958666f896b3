import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { MastraModelConfig } from "@mastra/core/llm";
import { MockLanguageModelV4 } from "ai/test";

/** The output of one step: tool calls by name and input, and texts. A text arrives in chunks. */
export interface Step {
  readonly calls?: readonly (readonly [name: string, input: object])[];
  readonly text?: string | readonly string[];
}

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

/** A model that plays a script, step by step, and records its prompts. */
export class ScriptedModel extends MockLanguageModelV4 {
  readonly prompts: LanguageModelV4CallOptions[] = [];
  /** Called before each step. If it throws, the model fails with that error. */
  onStep: (step: number) => void = () => undefined;

  constructor(steps: readonly Step[]) {
    let next = 0;
    const parts = (options: LanguageModelV4CallOptions) => {
      this.prompts.push(options);
      this.onStep(next);
      return partsOf(steps[next], next++);
    };
    super({
      doGenerate: async (options) => resultOf(parts(options)),
      doStream: async (options) => ({
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          start(controller) {
            for (const part of parts(options)) controller.enqueue(part);
            controller.close();
          },
        }),
      }),
    });
  }

  /** The same model, cast because Mastra has its own copy of the provider's types. */
  get config(): MastraModelConfig {
    return this as unknown as MastraModelConfig;
  }

  /** Number of characters in all prompts, with the tools' definitions. */
  get promptChars(): number {
    return this.prompts
      .map(({ prompt, tools }) => JSON.stringify({ prompt, tools }).length)
      .reduce((sum, chars) => sum + chars, 0);
  }
}

function partsOf({ calls = [], text = [] }: Step = {}, step: number): LanguageModelV4StreamPart[] {
  const deltas = typeof text === "string" ? [text] : text;
  const id = `text-${step}`;
  return [
    { type: "stream-start", warnings: [] },
    ...(deltas.length === 0
      ? []
      : ([
          { type: "text-start", id },
          ...deltas.map((delta) => ({ type: "text-delta" as const, id, delta })),
          { type: "text-end", id },
        ] as const)),
    ...calls.map(([toolName, input], index) => ({
      type: "tool-call" as const,
      toolCallId: `call-${step}-${index}`,
      toolName,
      input: JSON.stringify(input),
    })),
    {
      type: "finish",
      usage,
      finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined },
    },
  ];
}

function resultOf(parts: readonly LanguageModelV4StreamPart[]): LanguageModelV4GenerateResult {
  const text = parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
  const calls = parts.filter((part) => part.type === "tool-call");
  return {
    content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls],
    finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined },
    usage,
    warnings: [],
  };
}
