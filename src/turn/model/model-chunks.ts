import { hasExactNumber, parseExactly } from "../../value/exact-number.ts";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ToolSet, UIMessageChunk } from "ai";
import { createDefaultDownloadFunction, parseToolCall } from "ai/internal";
import { messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { noSuchTool } from "../../tool/no-such-tool.ts";
import { toBase64 } from "../../value/base64.ts";
import { clip } from "../../value/characters.ts";
import { jsonIn } from "../../value/json.ts";

type Part<Type extends LanguageModelV4StreamPart["type"]> = Extract<
  LanguageModelV4StreamPart,
  { type: Type }
>;

/** Parts that become a chunk without changes, except for the suffix on ids of text and reasoning. */
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

/** Returns the same chunk as the SDK's own server. */
export function plainChunk(part: PlainPart, idSuffix: string): UIMessageChunk {
  const about = part.providerMetadata == null ? none : { providerMetadata: part.providerMetadata };
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
      return { type: part.type, id: part.id + idSuffix, delta: part.delta, ...about };
    case "text-start":
    case "reasoning-start":
    case "reasoning-end":
      return { type: part.type, id: part.id + idSuffix, ...about };
    case "text-end": {
      const citations = part.citations == null ? none : { citations: part.citations };
      return { type: part.type, id: part.id + idSuffix, ...citations, ...about };
    }
    case "source":
      return sourceChunk(part);
    case "custom":
      return { type: "custom", kind: part.kind, ...about };
  }
}

const none = {};

function sourceChunk(part: Part<"source">): UIMessageChunk {
  const { id: sourceId, title, providerMetadata } = part;
  if (part.sourceType === "url") {
    const about = present({ title, providerMetadata });
    return { type: "source-url", sourceId, url: part.url, ...about };
  }
  const about = present({ filename: part.filename, providerMetadata });
  const { mediaType } = part;
  return { type: "source-document", sourceId, mediaType, title: part.title, ...about };
}

/** Embeds a file in the chunk. Fetches a file that the provider refers to by URL, as the SDK does. */
export async function fileChunk(
  part: Part<"file" | "reasoning-file">,
  signal: AbortSignal,
): Promise<UIMessageChunk> {
  const { type, mediaType, providerMetadata } = part;
  const data = part.data.type === "data" ? part.data.data : await fetched(part.data.url, signal);
  const url = `data:${mediaType};base64,${typeof data === "string" ? data : toBase64(data)}`;
  return { type, mediaType, url, ...present({ providerMetadata }) };
}

async function fetched(url: URL, signal: AbortSignal): Promise<Uint8Array> {
  // The SDK passes all fields to its download, also this one that its type does not name.
  const file = { url, isUrlSupportedByModel: false, maxBytes: limits.maxMessageBytes };
  const [download] = await createDefaultDownloadFunction(undefined, signal)([file]);
  if (download == null) throw new Error("The model's file was not fetched.");
  return download.data;
}

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
    const { id: toolCallId, toolName, inputEncoding, providerExecuted, providerMetadata } = part;
    const tool = this.#toolNamed(toolName);
    const about = present({
      inputEncoding,
      providerExecuted,
      providerMetadata,
      toolMetadata: tool?.metadata,
      dynamic: this.#dynamic(toolName, part.dynamic ?? false),
      title: tool?.title,
    });
    return { type: "tool-input-start", toolCallId, toolName, ...about };
  }

  delta({ id: toolCallId, delta: inputTextDelta }: Part<"tool-input-delta">): UIMessageChunk {
    return { type: "tool-input-delta", toolCallId, inputTextDelta };
  }

  async call(part: Part<"tool-call">): Promise<ParsedCall> {
    const parsed = await parseToolCall({
      toolCall: part,
      tools: this.#tools,
      repairToolCall: undefined,
      instructions: undefined,
      messages: [],
    });
    const { toolCallId, toolName, dynamic, invalid, error } = parsed;
    // The SDK reads all numbers as doubles.
    const isExact = invalid === true || !hasExactNumber(part.input);
    const input: unknown = isExact ? parsed.input : parseExactly(part.input);
    const { providerExecuted, providerMetadata, toolMetadata, title } = parsed;
    this.#metadata.set(toolCallId, toolMetadata);
    const about = {
      toolCallId,
      toolName,
      input,
      ...present({
        providerExecuted,
        providerMetadata,
        toolMetadata,
        dynamic: this.#dynamic(toolName, dynamic),
        title,
      }),
    };
    if (invalid !== true) {
      return { chunk: { type: "tool-input-available", ...about }, input, isInvalid: false };
    }
    // Like in the SDK, the model sees the error's text only for tools that run here.
    const errorText =
      providerExecuted === true ? "An error occurred." : this.#errorFor(part, error);
    return { chunk: { type: "tool-input-error", ...about, errorText }, input, isInvalid: true };
  }

  /** Says in our own words why a call cannot be made, with names of tools that are like the written one. */
  #errorFor({ toolName, input }: Part<"tool-call">, error: unknown): string {
    if (this.#toolNamed(toolName) === undefined) {
      return `unknown_tool: ${noSuchTool(toolName, Object.keys(this.#tools))}`;
    }
    const cause = error instanceof Error ? error.cause : undefined;
    const isNotJson = !(cause instanceof Error) || cause.name === "AI_JSONParseError";
    const isRefused = isNotJson && jsonIn(input) !== undefined;
    const why = isRefused ? REFUSED_KEY : isNotJson ? "The input is not JSON." : messageOf(cause);
    return `invalid_tool_input: ${clip(why, MAX_ERROR_CHARS)}`;
  }

  /** The result of a tool that the provider runs. */
  result(part: Part<"tool-result">): UIMessageChunk {
    const { toolCallId, toolName, result, isError, providerMetadata, dynamic } = part;
    const about = {
      toolCallId,
      providerExecuted: true,
      ...present({
        providerMetadata,
        toolMetadata: this.#metadata.get(toolCallId),
        dynamic: this.#dynamic(toolName, dynamic),
      }),
    };
    if (isError !== true)
      return { type: "tool-output-available", output: result ?? null, ...about };
    const errorText = typeof result === "string" ? result : JSON.stringify(result);
    return { type: "tool-output-error", errorText, ...about };
  }

  /** Requests approval for a tool that the provider would run. Throws if there was no such call. */
  approval({ approvalId, toolCallId }: Part<"tool-approval-request">): UIMessageChunk {
    if (!this.#metadata.has(toolCallId)) {
      throw new Error(`The model asks for approval of a call that it did not make: ${toolCallId}`);
    }
    return { type: "tool-approval-request", approvalId, toolCallId };
  }

  #toolNamed(name: string): ToolSet[string] | undefined {
    return Object.hasOwn(this.#tools, name) ? this.#tools[name] : undefined;
  }

  /** True for a dynamic tool. For an unknown tool, the provider's value is returned. */
  #dynamic(toolName: string, fallback: boolean | undefined): boolean | undefined {
    const tool = this.#toolNamed(toolName);
    if (tool === undefined) return fallback;
    return tool.type === "dynamic" ? true : undefined;
  }
}

const MAX_ERROR_CHARS = 1_000;

/** The SDK parses no object with such a key, because code that copies it may change its prototype. */
const REFUSED_KEY =
  "The input has a key `__proto__`, or `prototype` under `constructor`, which no tool accepts. Use another key.";

type Present<Fields> = { [Key in keyof Fields]?: NonNullable<Fields[Key]> };

/** Drops undefined fields, because a chunk carries no empty fields. */
function present<Fields extends object>(fields: Fields): Present<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value != null);
  // The same keys and values, without the undefined ones.
  return Object.fromEntries(entries) as Present<Fields>;
}
