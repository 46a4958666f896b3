import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";

/** What the model says in one step: a text, or calls by tool name. */
export type ModelStep =
  | string
  | readonly { readonly tool: string; readonly input: unknown; readonly dynamic?: boolean }[];

interface AgentModel extends MockLanguageModelV4 {
  /** What the model got, call by call, streamed or not. */
  readonly prompts: readonly LanguageModelV4CallOptions[];
}

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

/** A model that says these, one step a call, whether it is asked to stream or not. */
export function agentModel(steps: readonly ModelStep[], deltaChars = 3): AgentModel {
  const prompts: LanguageModelV4CallOptions[] = [];
  const next = (options: LanguageModelV4CallOptions) => {
    const step = steps[prompts.length];
    prompts.push({ ...options, prompt: structuredClone(options.prompt) });
    if (step === undefined) throw new Error(`There is no step ${prompts.length}.`);
    return { content: contentOf(step, prompts.length), reason: reasonOf(step) };
  };
  const model = new MockLanguageModelV4({
    doGenerate: async (options) => {
      const { content, reason } = next(options);
      return { content: [...content], finishReason: reason, usage: USAGE, warnings: [] };
    },
    doStream: async (options) => {
      const { content, reason } = next(options);
      const parts: LanguageModelV4StreamPart[] = [
        { type: "stream-start", warnings: [] },
        ...content.flatMap((part) => partsOf(part, deltaChars)),
        { type: "finish", finishReason: reason, usage: USAGE },
      ];
      return { stream: new Blob([]).stream().pipeThrough(streamOf(parts)) };
    },
  });
  return Object.assign(model, { prompts });
}

function reasonOf(step: ModelStep) {
  const unified = typeof step === "string" ? ("stop" as const) : ("tool-calls" as const);
  return { unified, raw: unified };
}

function contentOf(step: ModelStep, number: number): readonly LanguageModelV4Content[] {
  if (typeof step === "string") return [{ type: "text", text: step }];
  return step.map(({ tool, input, dynamic }, index) => ({
    type: "tool-call",
    toolCallId: `call_${number}_${index}`,
    toolName: tool,
    input: JSON.stringify(input),
    ...(dynamic === undefined ? {} : { dynamic }),
  }));
}

function partsOf(part: LanguageModelV4Content, chars: number): LanguageModelV4StreamPart[] {
  if (part.type === "tool-call") return [part];
  if (part.type !== "text") return [];
  const deltas = part.text.match(new RegExp(`.{1,${chars}}`, "gsu")) ?? [];
  return [
    { type: "text-start", id: "text" },
    ...deltas.map((delta) => ({ type: "text-delta" as const, id: "text", delta })),
    { type: "text-end", id: "text" },
  ];
}

function streamOf(parts: readonly LanguageModelV4StreamPart[]) {
  return new TransformStream<unknown, LanguageModelV4StreamPart>({
    flush(controller) {
      for (const part of parts) controller.enqueue(part);
    },
  });
}

/** All characters of a prompt: what is sent to the model, tools not counted. */
export function charsOf({ prompt }: Pick<LanguageModelV4CallOptions, "prompt">): number {
  return prompt.reduce((sum, { content }) => {
    const parts = typeof content === "string" ? [content] : content;
    return sum + parts.reduce((chars, part) => chars + partChars(part), 0);
  }, 0);
}

function partChars(part: unknown): number {
  if (typeof part === "string") return part.length;
  const { text, input, output } = part as Readonly<Record<string, unknown>>;
  if (typeof text === "string") return text.length;
  return JSON.stringify(output ?? input ?? null).length;
}
