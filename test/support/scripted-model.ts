import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";

export type Part = LanguageModelV4StreamPart;

/** The parts that one call of the model streams: in groups, as the builders below make them. */
export type Script = readonly (Part | readonly Part[])[];

type Parts = Script | AsyncIterable<Part | readonly Part[]>;

/**
 * What one call does. A function that throws is a model that is down; a promise that stays open, one that
 * does not answer; a generator that throws, a stream that breaks.
 */
export type Step = Script | ((options: LanguageModelV4CallOptions) => Parts | Promise<Script>);

export interface ScriptedModel extends LanguageModelV4 {
  /** What the model got, call by call. */
  readonly calls: readonly LanguageModelV4CallOptions[];
}

/** A model whose n-th call streams the n-th step, each part only when it is asked for. */
export function scriptedModel(steps: readonly Step[]): ScriptedModel {
  const calls: LanguageModelV4CallOptions[] = [];
  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    calls,
    doGenerate: () => Promise.reject(new Error("The scripted model only streams.")),
    doStream: async (options) => {
      const step = steps[calls.length];
      // A copy: what the caller does with the prompt afterwards does not change the record.
      calls.push({ ...options, prompt: structuredClone(options.prompt) });
      if (step === undefined) throw new Error(`There is no step ${calls.length}.`);
      return { stream: streamOf(typeof step === "function" ? await step(options) : step) };
    },
  };
}

function streamOf(groups: Parts): ReadableStream<Part> {
  const parts = flatten(groups);
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        const next = await parts.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await parts.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* flatten(groups: Parts): AsyncGenerator<Part, void, undefined> {
  for await (const group of groups) {
    if (isPart(group)) yield group;
    else yield* group;
  }
}

function isPart(group: Part | readonly Part[]): group is Part {
  return "type" in group;
}

interface TextOptions {
  readonly id?: string;
  /** How the text is cut: its deltas, or the characters of each. Default: one delta. */
  readonly chunks?: number | readonly string[];
  readonly metadata?: SharedV4ProviderMetadata;
}

/** A text part from its start to its end. */
export function text(value: string, options: TextOptions = {}): readonly Part[] {
  return block("text", value, { id: "text_1", ...options });
}

/** A reasoning part from its start to its end. */
export function reasoning(value: string, options: TextOptions = {}): readonly Part[] {
  return block("reasoning", value, { id: "reasoning_1", ...options });
}

function block(kind: "text" | "reasoning", value: string, options: TextOptions & { id: string }) {
  const { id, chunks = [value], metadata } = options;
  const about = metadata === undefined ? {} : { providerMetadata: metadata };
  const deltas = typeof chunks === "number" ? cut(value, chunks) : chunks;
  return [
    { type: `${kind}-start` as const, id, ...about },
    ...deltas.map((delta) => ({ type: `${kind}-delta` as const, id, delta })),
    { type: `${kind}-end` as const, id },
  ];
}

function cut(value: string, chars: number): readonly string[] {
  const count = Math.ceil(value.length / chars);
  return Array.from({ length: count }, (_, at) => value.slice(at * chars, (at + 1) * chars));
}

interface ToolCallOptions {
  /** Default: `call_` and the tool's name. */
  readonly id?: string;
  /** Stream the input in pieces of so many characters first, as most providers do. */
  readonly chunks?: number;
}

/** A tool call; an input that is a string is the raw text of the call, whatever it is. */
export function toolCall(
  toolName: string,
  input: unknown,
  { id = `call_${toolName}`, chunks }: ToolCallOptions = {},
): readonly Part[] {
  const raw = typeof input === "string" ? input : JSON.stringify(input);
  const call: Part = { type: "tool-call", toolCallId: id, toolName, input: raw };
  if (chunks === undefined) return [call];
  return [
    { type: "tool-input-start", id, toolName },
    ...cut(raw, chunks).map((delta) => ({ type: "tool-input-delta" as const, id, delta })),
    { type: "tool-input-end", id },
    call,
  ];
}

/** The end of a call: `tool-calls` for a step that asks for tools. */
export function finish(
  unified: LanguageModelV4FinishReason["unified"] = "stop",
  tokens: { readonly input?: number; readonly output?: number } = {},
): readonly Part[] {
  const usage = {
    inputTokens: {
      total: tokens.input,
      noCache: undefined,
      cacheRead: undefined,
      cacheWrite: undefined,
    },
    outputTokens: { total: tokens.output, text: undefined, reasoning: undefined },
  };
  return [{ type: "finish", finishReason: { unified, raw: unified }, usage }];
}
