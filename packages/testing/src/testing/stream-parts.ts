import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { json } from "../../../../src/internal.ts";

export type Part = LanguageModelV4StreamPart;

interface TextOptions {
  readonly id?: string;
  /** The text's deltas, or the number of characters of each. Default: one delta. */
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

function block(
  kind: "text" | "reasoning",
  value: string,
  options: TextOptions & { id: string },
): readonly Part[] {
  const { id, chunks = [value], metadata } = options;
  const about = metadata === undefined ? {} : { providerMetadata: metadata };
  const deltas = typeof chunks === "number" ? cut(value, chunks) : chunks;
  return [
    { type: `${kind}-start` as const, id, ...about },
    ...deltas.map((delta) => ({ type: `${kind}-delta` as const, id, delta })),
    { type: `${kind}-end` as const, id },
  ];
}

/** Cuts between characters, never inside of one: half a surrogate pair cannot be encoded as UTF-8. */
export function cut(value: string, chars: number): readonly string[] {
  const characters = Array.from(value);
  const count = Math.ceil(characters.length / chars);
  return Array.from({ length: count }, (_, at) =>
    characters.slice(at * chars, (at + 1) * chars).join(""),
  );
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

/** The end of a call: `tool-calls` for a step with tool calls. */
export function finish(
  unified: LanguageModelV4FinishReason["unified"] = "stop",
  tokens: { readonly input?: number; readonly cached?: number; readonly output?: number } = {},
): readonly Part[] {
  const { input: total, cached: cacheRead, output } = tokens;
  const usage = {
    inputTokens: { total, noCache: undefined, cacheRead, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  };
  return [{ type: "finish", finishReason: { unified, raw: unified }, usage }];
}

/** Creates a model that needs no provider: each call streams, or generates, the parts that a function returns. */
export function modelOf(
  provider: string,
  modelId: string,
  partsFor: (options: LanguageModelV4CallOptions) => Parts | Promise<Parts>,
): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider,
    modelId,
    supportedUrls: {},
    doGenerate: async (options) => generated(await partsFor(options)),
    doStream: async (options) => ({ stream: streamOf(await partsFor(options)) }),
  };
}

type Parts = AsyncGenerator<Part, void, undefined>;

/** A stream of the parts, each produced when it is requested: an abort takes effect at the next part. */
function streamOf(parts: Parts): ReadableStream<Part> {
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

type Content = LanguageModelV4Content;
type Block = Extract<Content, { readonly type: "text" | "reasoning" }>;
type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/** Returns what a call that does not stream would, of the parts that it would stream. */
async function generated(parts: Parts): Promise<LanguageModelV4GenerateResult> {
  const content: Content[] = [];
  const blocks = new Map<string, Writable<Block>>();
  const result: Partial<Writable<LanguageModelV4GenerateResult>> = {};
  for await (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const type = part.type === "text-start" ? "text" : "reasoning";
        const block: Writable<Block> = {
          type,
          text: "",
          ...json.compact({ providerMetadata: part.providerMetadata }),
        };
        blocks.set(part.id, block);
        content.push(block);
        break;
      }
      case "text-delta":
      case "reasoning-delta": {
        const block = blocks.get(part.id);
        if (block !== undefined) block.text += part.delta;
        break;
      }
      case "stream-start":
        result.warnings = part.warnings;
        break;
      case "response-metadata":
        result.response = json.compact({ modelId: part.modelId });
        break;
      case "finish":
        Object.assign(result, { finishReason: part.finishReason, usage: part.usage });
        break;
      case "error":
        throw part.error;
      default:
        // The other parts of a stream announce, repeat or end something.
        if (WHOLE_PARTS.has(part.type)) content.push(part as Extract<Part, Content>);
    }
  }
  const { finishReason, usage, warnings = [], response } = result;
  if (finishReason === undefined || usage === undefined) {
    throw new Error("The step ends without a finish.");
  }
  return { content, finishReason, usage, warnings, ...json.compact({ response }) };
}

const WHOLE_PARTS: ReadonlySet<string> = new Set<Content["type"]>([
  "tool-call",
  "tool-result",
  "tool-approval-request",
  "source",
  "file",
]);
