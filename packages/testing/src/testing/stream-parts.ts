import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";

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

/** A stream of the parts, each produced when it is requested: an abort takes effect at the next part. */
export function streamOf(parts: AsyncGenerator<Part, void, undefined>): ReadableStream<Part> {
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
