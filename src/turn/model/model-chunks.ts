import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { asSchema, safeParseJSON } from "@ai-sdk/provider-utils";
import {
  createDownload,
  DefaultGeneratedFile,
  type TextStreamPart,
  toUIMessageChunk,
  type ToolSet,
  type UIMessageChunk,
} from "ai";
import { messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { noSuchTool } from "../../tool/policy.ts";
import { clip } from "../../value/characters.ts";
import { hasExactNumber, parseExactly } from "../../value/exact-number.ts";
import { jsonIn } from "../../value/json.ts";

type Part<Type extends LanguageModelV4StreamPart["type"]> = Extract<
  LanguageModelV4StreamPart,
  { type: Type }
>;

/** Converts a part as the SDK's own server does. */
function chunkOf(part: object, tools: ToolSet = {}, errorText = ""): UIMessageChunk {
  const options = { tools, sendSources: true, redactToolErrors: true, onError: () => errorText };
  // The caller passes a part that becomes a chunk, with the fields that the SDK reads.
  return toUIMessageChunk(part as TextStreamPart<ToolSet>, options) as UIMessageChunk;
}

/** Parts that become a chunk as they are, except for the suffix on ids of text and reasoning. */
type PlainPart = Part<
  | "text-start"
  | "text-delta"
  | "text-end"
  | "reasoning-start"
  | "reasoning-delta"
  | "reasoning-end"
  | "source"
  | "custom"
>;

export function plainChunk(part: PlainPart, idSuffix: string): UIMessageChunk {
  if (part.type === "source" || part.type === "custom") return chunkOf(part);
  const id = part.id + idSuffix;
  return chunkOf("delta" in part ? { ...part, id, text: part.delta } : { ...part, id });
}

/** Embeds a file in the chunk. Fetches a file that the provider refers to by URL, as the SDK does. */
export async function fileChunk(
  part: Part<"file" | "reasoning-file">,
  abortSignal: AbortSignal,
): Promise<UIMessageChunk> {
  const { mediaType } = part;
  const data =
    part.data.type === "data"
      ? part.data.data
      : (await download({ url: part.data.url, abortSignal })).data;
  return chunkOf({ ...part, file: new DefaultGeneratedFile({ data, mediaType }) });
}

const download = createDownload({ maxBytes: limits.maxMessageBytes });

/** A parsed call of the model. */
interface ParsedCall {
  readonly chunk: UIMessageChunk;
  /** Parsed JSON. For an invalid call, any value. */
  readonly input: unknown;
  /** True if the tool is unknown, or if the input does not fit the schema that the model sees. */
  readonly isInvalid: boolean;
}

/** Builds the chunks of tools. A part refers to earlier calls of the same answer. */
export class ToolChunks {
  readonly #tools: ToolSet;
  /** Metadata of the tools, by call id. */
  readonly #metadata = new Map<string, ToolSet[string]["metadata"]>();

  constructor(tools: ToolSet) {
    this.#tools = tools;
  }

  start(part: Part<"tool-input-start">): UIMessageChunk {
    const { toolName, dynamic = false } = part;
    return chunkOf({ ...part, dynamic, ...this.#about(toolName) }, this.#tools);
  }

  delta(part: Part<"tool-input-delta">): UIMessageChunk {
    return chunkOf(part);
  }

  async call(part: Part<"tool-call">): Promise<ParsedCall> {
    const { toolCallId, toolName, providerExecuted = false } = part;
    const tool = this.#toolNamed(toolName);
    const text = part.input.trim() === "" ? "{}" : part.input;
    const parsed = await safeParseJSON({ text, schema: asSchema<unknown>(tool?.inputSchema) });
    // The provider's own tools need not be declared.
    const isKnown = tool !== undefined || (providerExecuted && part.dynamic === true);
    const isInvalid = !isKnown || !parsed.success;
    // The SDK reads all numbers as doubles.
    const exact = isInvalid || !hasExactNumber(part.input) ? undefined : parseExactly(part.input);
    const read = parsed.success ? parsed.value : (parsed.rawValue ?? part.input);
    const input = exact ?? read;
    const about = this.#about(toolName);
    this.#metadata.set(toolCallId, about.toolMetadata);
    const call = { ...part, ...about, input, dynamic: true, invalid: isInvalid };
    if (!isInvalid) return { chunk: chunkOf(call, this.#tools), input, isInvalid };
    // Like in the SDK, the model sees the error's text only for tools that run here.
    const error = parsed.success ? undefined : parsed.error;
    const errorText = providerExecuted ? "An error occurred." : this.#errorFor(part, error);
    return { chunk: chunkOf(call, this.#tools, errorText), input, isInvalid };
  }

  /** Says in our own words why a call cannot be made, with names of tools that are like the written one. */
  #errorFor({ toolName, input }: Part<"tool-call">, error: unknown): string {
    if (this.#toolNamed(toolName) === undefined) {
      return `unknown_tool: ${noSuchTool(toolName, Object.keys(this.#tools))}`;
    }
    const isNotJson = !(error instanceof Error) || error.name === "AI_JSONParseError";
    const isRefused = isNotJson && jsonIn(input) !== undefined;
    const why = isRefused ? REFUSED_KEY : isNotJson ? "The input is not JSON." : messageOf(error);
    return `invalid_tool_input: ${clip(why, MAX_ERROR_CHARS)}`;
  }

  /** The result of a tool that the provider runs. */
  result(part: Part<"tool-result">): UIMessageChunk {
    const { isError, result, preliminary: _preliminary, ...about } = part;
    const outcome =
      isError === true
        ? { type: "tool-error", error: result }
        : { type: "tool-result", output: result };
    const toolMetadata = this.#metadata.get(about.toolCallId);
    return chunkOf({ ...about, ...outcome, providerExecuted: true, toolMetadata }, this.#tools);
  }

  /** Requests approval for a tool that the provider would run. Throws if there was no such call. */
  approval({ approvalId, toolCallId }: Part<"tool-approval-request">): UIMessageChunk {
    if (!this.#metadata.has(toolCallId)) {
      throw new Error(`The model asks for approval of a call that it did not make: ${toolCallId}`);
    }
    return { type: "tool-approval-request", approvalId, toolCallId };
  }

  #about(toolName: string) {
    const tool = this.#toolNamed(toolName);
    return { title: tool?.title, toolMetadata: tool?.metadata };
  }

  #toolNamed(name: string): ToolSet[string] | undefined {
    return Object.hasOwn(this.#tools, name) ? this.#tools[name] : undefined;
  }
}

const MAX_ERROR_CHARS = 1_000;

/** The SDK parses no object with such a key, because code that copies it may change its prototype. */
const REFUSED_KEY =
  "The input has a key `__proto__`, or `prototype` under `constructor`, which no tool accepts. Use another key.";
