import * as limits from "../../limits.ts";
import { ByrefError, codeOf, messageOf } from "../../errors.ts";
import { compact, isObject, type Json, jsonIn } from "../../value/json.ts";
import { clip } from "../../value/characters.ts";
import { Deadline } from "../../value/deadline.ts";
import type { Account } from "../spend/account.ts";
import type { Usage } from "../spend/spend.ts";
import type { ToolCall } from "../waiting-calls.ts";
import { failureOf, isRefused, pause, retryDelayMs, StreamCutOff } from "./model-failure.ts";
import { type PromptReader, acceptablePrompt, providerMessage } from "./acceptable-prompt.ts";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { asSchema, safeParseJSON } from "@ai-sdk/provider-utils";
import {
  type LanguageModel,
  type ModelMessage,
  type ToolSet,
  wrapLanguageModel,
  type FinishReason,
  type UIMessageChunk,
  createDownload,
  DefaultGeneratedFile,
  type TextStreamPart,
  toUIMessageChunk,
} from "ai";
import type { ModelName, Observer } from "../../tool/observer.ts";
import { noSuchTool } from "../../tool/policy.ts";
import { hasExactNumber, parseExactly } from "../../value/exact-number.ts";
import { nextTask } from "../../value/next-task.ts";
import { requireJson } from "../../value/require-json.ts";

/** What a turn provides to the calls of its model. */
export interface ModelCallContext {
  /** Counts the cost of the whole turn. */
  readonly account: Account;
  /** Aborts when the turn is stopped or takes too long. The answer so far is kept. */
  readonly signal: AbortSignal;
  /** Removes secrets, such as the model's key, from an error's text. Default: no change. */
  readonly redact?: ((text: string) => string) | undefined;
  /** Waits before a model is called again. Resolves early when the signal aborts. Default: a timer. */
  readonly sleep?: (delayMs: number, signal: AbortSignal) => Promise<void>;
  /** Observes the calls of models and tools. */
  readonly observer?: Observer | undefined;
}

export interface CallResult {
  readonly finishReason: FinishReason;
  /** Well-formed calls of our own tools. */
  readonly calls: readonly ToolCall[];
  /** Number of malformed calls. Each has been answered with an error. */
  readonly invalidCalls: number;
  /** The provider's error, if the prompt had to be sent reduced. */
  readonly refused?: string;
}

/**
 * Calls the model once. Passes its parts to `write`, and returns its tool calls. Tries again after a failure that may be
 * temporary, and once with a reduced prompt if the provider refuses it. Throws `model_failed` or `model_timeout` if the
 * call fails, the reason of the signal, and errors of `write` and `reset`.
 */
export async function callModel(
  context: ModelCallContext,
  request: ModelRequest,
  output: ModelOutput,
): Promise<CallResult> {
  const { account, signal, observer, sleep = pause } = context;
  const named = modelNameOf(request.model);
  let call: ModelCall | undefined;
  const prepare = async () => {
    if (call !== undefined) return call;
    call = await prepareModelCall(request);
    account.addPrompt({ ...call.options, prompt: call.plain });
    return call;
  };
  let hasWritten = false;
  let refused: CallResult["refused"];
  for (let tries = 1; ; tries++) {
    await account.spend("modelCalls", 1);
    signal.throwIfAborted();
    const observed = observer?.begin({ kind: "model", name: named.model, ...named });
    const mustReset = hasWritten;
    const attempt = new ModelTry({
      tools: request.callable ?? request.tools,
      signal,
      write: output.write,
      onFirst: () => {
        observed?.firstOutput();
        if (mustReset) output.reset();
      },
      idSuffix: tries === 1 ? output.idSuffix : `${output.idSuffix}.${tries}`,
    });
    try {
      const result = await attempt.run(prepare).finally(() => account.addCall(attempt.usage));
      observed?.end({ finishReason: result.finishReason, ...tokensOf(attempt.usage) });
      return { ...result, ...compact({ refused }) };
    } catch (error) {
      const isOurs = error instanceof WriteFailed;
      const failure = isOurs ? codeOf(error.cause) : failureOf(error);
      observed?.end({ error: failure, ...tokensOf(attempt.usage) });
      if (isOurs) throw error.cause;
      signal.throwIfAborted();
      const isFirst = refused === undefined && request.isReduced !== true;
      if (call !== undefined && isFirst && isRefused(error)) {
        const reduced = await prepareModelCall({ ...request, isReduced: true });
        if (JSON.stringify(reduced.options) !== JSON.stringify(call.options)) {
          refused = textOf(error, context);
          call = reduced;
          continue;
        }
      }
      const delayMs = retryDelayMs(error, tries);
      if (delayMs === undefined) {
        if (error instanceof ByrefError) throw error;
        const also = refused === undefined ? "" : ` So it did with ${REDUCED}.`;
        throw new ByrefError("model_failed", `The model failed: ${textOf(error, context)}${also}`);
      }
      await sleep(delayMs, signal);
      signal.throwIfAborted();
      hasWritten ||= attempt.hasWritten;
    }
  }
}

function tokensOf({ inputTokens, outputTokens }: Usage) {
  return { inputTokens, outputTokens };
}

/** What a provider receives that has refused a prompt. */
export const REDUCED = "earlier turns as texts and without images";

/** An endpoint's error text may be long, and may repeat the key that it received. */
function textOf(error: unknown, { redact = (text) => text }: ModelCallContext): string {
  return clip(redact(messageOf(error)).replaceAll(/\s+/g, " "), limits.maxDescriptionChars);
}

export interface ModelRequest extends Pick<PromptReader, "hasTags" | "hasList" | "isReduced"> {
  readonly model: LanguageModel;
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: ToolSet;
  /** The tools that a call may name, offered or not. Default: those that are offered. */
  readonly callable?: ToolSet;
}

export interface ModelCall {
  readonly model: LanguageModelV4;
  readonly options: LanguageModelV4CallOptions;
  /** The prompt in which each result is still as its tool returned it. */
  readonly plain: LanguageModelV4Prompt;
}

/** Prepares the call of a model of any version that the SDK knows. */
export async function prepareModelCall(request: ModelRequest): Promise<ModelCall> {
  const { instructions, hasTags = false, hasList = false, isReduced = false } = request;
  const model = resolvedModel(request.model);
  const tools = await Promise.all(Object.entries(request.tools).map(definitionOf));
  // Providers refuse an empty message.
  const system = instructions === "" ? [] : [{ role: "system" as const, content: instructions }];
  const plain = [...system, ...request.messages.map(providerMessage)];
  const { provider, modelId } = model;
  const reader = { provider, modelId, tools, hasTags, hasList, isReduced };
  return {
    model,
    plain,
    options: {
      prompt: acceptablePrompt(plain, reader),
      ...(tools.length === 0 ? {} : { tools }),
      toolChoice: { type: "auto" },
    },
  };
}

type Definition = NonNullable<LanguageModelV4CallOptions["tools"]>[number];

async function definitionOf([name, tool]: [string, ToolSet[string]]): Promise<Definition> {
  if (tool.type === "provider") return { type: "provider", name, id: tool.id, args: tool.args };
  const { description: said, inputExamples, providerOptions, strict } = tool;
  const description = typeof said === "function" ? said({ context: undefined }) : said;
  const inputSchema = await asSchema(tool.inputSchema).jsonSchema;
  const optional = compact({ description, inputExamples, providerOptions, strict });
  // Examples are JSON, as inputs are.
  return { type: "function", name, inputSchema, ...optional } as Definition;
}

/**
 * Returns the model in the newest version of the specification. Throws `bad_configuration` for an unknown
 * version, and for a model given as text without a default provider. The SDK's own resolver would bundle its
 * gateway for models given as text: 28 KiB of a Worker (gzip), used or not.
 */
export function resolvedModel(model: LanguageModel): LanguageModelV4 {
  if (typeof model === "string") {
    const provider = globalThis.AI_SDK_DEFAULT_PROVIDER;
    if (provider !== undefined) return resolvedModel(provider.languageModel(model));
    const message = "A model given as text needs AI_SDK_DEFAULT_PROVIDER; pass a provider's model.";
    throw new ByrefError("bad_configuration", message);
  }
  const { specificationVersion: version } = model;
  if (model.specificationVersion === "v4") return model;
  if (version === "v3" || version === "v2") return wrapLanguageModel({ model, middleware: [] });
  throw new ByrefError("bad_configuration", "The model is of a version that is not known here.");
}

/** The model's name. The provider of a model given as text is unknown. */
export function modelNameOf(model: LanguageModel): ModelName {
  if (typeof model === "string") return { model, provider: "unknown" };
  return { model: model.modelId, provider: model.provider };
}

type End = Part<"finish">;

export interface ModelOutput {
  /** Receives each chunk as the model wrote it. Awaited before the next chunk. */
  readonly write: (chunk: UIMessageChunk) => void | Promise<void>;
  /** Removes the written part of this answer before another try writes its own. */
  readonly reset: () => void;
  /** Appended to the provider's ids of texts and reasoning, so that they are unique to this attempt. */
  readonly idSuffix: string;
}

/** Writing a chunk failed. Another try would not help. */
class WriteFailed extends Error {}

interface TryOptions
  extends
    Pick<ModelRequest, "tools">,
    Pick<ModelCallContext, "signal">,
    Omit<ModelOutput, "reset"> {
  readonly onFirst: () => void;
}

/**
 * After so many parts and milliseconds, a turn lets others have the event loop. Turns whose models are ahead of them would
 * else keep it until they end, and timers and requests, such as one to stop, would wait.
 */
const REST_PARTS = 32;
const REST_MS = 50;

/** One try of one model call. Its results and its writes belong to this try alone. */
class ModelTry {
  readonly #options: TryOptions;
  /** Calls by the id under which the provider writes them. */
  readonly #begun = new Map<string, BegunCall[]>();
  readonly #calls: ToolCall[] = [];
  #invalidCalls = 0;
  hasWritten = false;
  #hasFailed = false;
  #hasText = false;
  readonly #blocks = new Set<string>();
  #end: End | undefined;

  constructor(options: TryOptions) {
    this.#options = options;
  }

  /** The usage that the provider reported, also if the try failed later. */
  get usage(): Usage {
    const { inputTokens: input, outputTokens: output }: Partial<End["usage"]> =
      this.#end?.usage ?? {};
    const [inputTokens, outputTokens] = [countOf(input?.total), countOf(output?.total)];
    const hasTotal = inputTokens !== undefined || outputTokens !== undefined;
    return compact({
      inputTokens,
      cachedInputTokens: countOf(input?.cacheRead),
      outputTokens,
      totalTokens: hasTotal ? (inputTokens ?? 0) + (outputTokens ?? 0) : undefined,
    });
  }

  /** Runs the try. Throws the provider's errors, `model_timeout`, or the stop signal's reason. */
  async run(prepare: () => Promise<ModelCall>): Promise<CallResult> {
    const silence = new Deadline(limits.modelSilenceMs, {
      signal: this.#options.signal,
      error: () => new ByrefError("model_timeout", SILENT),
    });
    const opening = prepare().then(async ({ model, options }) => {
      const { stream } = await model.doStream({ ...options, abortSignal: silence.signal });
      return stream.getReader();
    });
    // A model that ignores the signal is not awaited. Its late answer is cancelled when it arrives.
    const abandon = (reason?: unknown) => {
      opening.then((reader) => reader.cancel(reason)).catch(() => undefined);
    };
    silence.passed.catch(abandon);
    try {
      const reader = await Promise.race([opening, silence.passed]);
      await this.#read(reader, silence);
      silence.signal.throwIfAborted();
    } catch (error) {
      if (error instanceof WriteFailed) throw error;
      if (this.#options.signal.aborted || !this.#isComplete) {
        throw silence.signal.aborted ? silence.signal.reason : error;
      }
    } finally {
      silence.end();
      abandon();
    }
    if (this.#end === undefined || !this.#isComplete) throw new StreamCutOff();
    const { unified } = this.#end.finishReason;
    const [calls, invalidCalls] = [this.#calls, this.#invalidCalls];
    // The answer announces calls, and has none: an endpoint has lost them, or says so of a text.
    const isWrong = unified === "tool-calls" && this.#begun.size === 0;
    if (isWrong && !this.#hasText) throw new StreamCutOff();
    return { finishReason: isWrong ? "other" : unified, calls, invalidCalls };
  }

  async #read(reader: ReadableStreamDefaultReader<Part>, silence: Deadline): Promise<void> {
    let restedMs = Date.now();
    let parts = 0;
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      silence.touch();
      await this.#take(read.value, silence.signal);
      if (++parts % REST_PARTS > 0 || Date.now() - restedMs < REST_MS) continue;
      await nextTask();
      restedMs = Date.now();
    }
  }

  async #take(part: Part, signal: AbortSignal): Promise<void> {
    switch (part.type) {
      case "text-delta":
      case "text-start":
      case "text-end":
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        return this.#takeBlock(part);
      case "source":
      case "custom":
        return this.#write(chunkOf(part));
      case "tool-input-start":
        return this.#write(this.#chunk({ dynamic: false, ...part, id: this.#begin(part.id).id }));
      case "tool-input-delta": {
        const id = this.#begun.get(part.id)?.at(-1)?.id ?? part.id;
        return this.#write(chunkOf({ ...part, id }));
      }
      case "tool-call":
        return this.#takeCall(part);
      case "tool-result":
        return this.#write(this.#resultChunk(part));
      case "tool-approval-request": {
        const { type, approvalId, toolCallId } = part;
        if (this.#begun.has(toolCallId)) return this.#write({ type, approvalId, toolCallId });
        throw new Error(
          `The model asks for approval of a call that it did not make: ${toolCallId}`,
        );
      }
      case "file":
      case "reasoning-file":
        return this.#write(await fileChunk(part, signal));
      case "finish":
        this.#end = part;
        return undefined;
      case "error":
        this.#hasFailed = true;
        throw part.error;
      default:
        return undefined;
    }
  }

  /** Begins a text or reasoning that the provider did not begin: clients refuse a part of none. */
  async #takeBlock(written: BlockPart): Promise<void> {
    const { idSuffix } = this.#options;
    const part = "delta" in written ? { ...written, delta: textIn(written.delta) } : written;
    const kind = part.type.startsWith("text") ? "text" : "reasoning";
    const key = `${kind} ${part.id}`;
    this.#hasText ||= part.type === "text-delta" && part.delta.trim() !== "";
    const isBegun = this.#blocks.has(key);
    if (part.type.endsWith("-end")) this.#blocks.delete(key);
    else this.#blocks.add(key);
    const isNew = !isBegun && !part.type.endsWith("-start");
    if (isNew && !("delta" in part)) return;
    if (isNew) await this.#write(blockChunk({ type: `${kind}-start`, id: part.id }, idSuffix));
    await this.#write(blockChunk(part, idSuffix));
  }

  /**
   * Parses a call. It is invalid if the tool is unknown, or if the input does not fit the schema that the model sees; then
   * the input is any value.
   */
  async #takeCall(written: Part<"tool-call">): Promise<void> {
    const part = { ...written, toolName: textIn(written.toolName), input: textIn(written.input) };
    const { toolName, providerExecuted = false } = part;
    const toolCallId = this.#idOf(part);
    const tool = this.#toolNamed(toolName);
    const text = inputIn(part.input);
    const parsed = await safeParseJSON({ text, schema: asSchema<unknown>(tool?.inputSchema) });
    // The provider's own tools need not be declared.
    const isKnown = tool !== undefined || (providerExecuted && part.dynamic === true);
    const isInvalid = !isKnown || !parsed.success;
    // The SDK reads all numbers as doubles.
    const exact = isInvalid || !hasExactNumber(text) ? undefined : parseExactly(text);
    const value = exact ?? (parsed.success ? parsed.value : (parsed.rawValue ?? text));
    // Like in the SDK, the model sees the error's text only for tools that run here.
    let errorText = "An error occurred.";
    if (!providerExecuted) {
      try {
        // Storing an input that is deeper would end the turn. The SDK made it by parsing JSON.
        requireJson(value as Json);
      } catch (error) {
        this.#invalidCalls++;
        errorText = `invalid_tool_input: ${messageOf(error)}`;
        return this.#write({
          type: "tool-input-error",
          toolCallId,
          toolName,
          input: {},
          errorText,
        });
      }
      if (isInvalid) errorText = this.#errorFor(part, parsed.success ? undefined : parsed.error);
      if (isInvalid) this.#invalidCalls++;
      else this.#calls.push({ toolCallId, toolName, input: value as Json });
    }
    const call = { ...part, toolCallId, input: value, dynamic: true, invalid: isInvalid };
    return this.#write(this.#chunk(call, errorText));
  }

  /** The result of a tool that the provider runs. */
  #resultChunk(part: Part<"tool-result">): UIMessageChunk {
    const { isError, result, preliminary: _preliminary, ...call } = part;
    const outcome =
      isError === true
        ? { type: "tool-error", error: result }
        : { type: "tool-result", output: result };
    return this.#chunk({ ...call, ...outcome, providerExecuted: true });
  }

  /** Returns an id that no other call of the answer has. A call that is written twice is one. */
  #idOf({ toolCallId, toolName, input }: Part<"tool-call">): string {
    const call = `${toolName} ${input}`;
    const begun = this.#begun.get(toolCallId) ?? [];
    const isOpen = begun.find((one) => one.call === undefined);
    const own = isOpen ?? begun.find((one) => one.call === call) ?? this.#begin(toolCallId);
    own.call = call;
    return own.id;
  }

  /** Providers may give several calls one id. */
  #begin(written: string): BegunCall {
    const begun = this.#begun.get(written) ?? [];
    const own = { id: begun.length === 0 ? written : `${written}#${begun.length + 1}` };
    this.#begun.set(written, [...begun, own]);
    return own;
  }

  /** Says in our own words why a call cannot be made, with names of tools that are like the written one. */
  #errorFor({ toolName, input }: Part<"tool-call">, error: unknown): string {
    if (this.#toolNamed(toolName) === undefined) {
      return `unknown_tool: ${noSuchTool(toolName, Object.keys(this.#options.tools))}`;
    }
    const isNotJson = !(error instanceof Error) || error.name === "AI_JSONParseError";
    const isRefused = isNotJson && jsonIn(input) !== undefined;
    const why = isRefused ? REFUSED_KEY : isNotJson ? "The input is not JSON." : messageOf(error);
    return `invalid_tool_input: ${clip(why, MAX_ERROR_CHARS)}`;
  }

  /** Converts a part about a call, with what its tool says of itself. */
  #chunk<About extends { readonly toolName: string }>(part: About, errorText?: string) {
    const { title, metadata: toolMetadata } = this.#toolNamed(part.toolName) ?? {};
    return chunkOf({ ...part, title, toolMetadata }, this.#options.tools, errorText);
  }

  #toolNamed(name: string): ToolSet[string] | undefined {
    const { tools } = this.#options;
    return Object.hasOwn(tools, name) ? tools[name] : undefined;
  }

  async #write(chunk: UIMessageChunk): Promise<void> {
    const isFirst = !this.hasWritten;
    this.hasWritten = true;
    try {
      if (isFirst) this.#options.onFirst();
      await this.#options.write(chunk);
    } catch (cause) {
      throw new WriteFailed("A chunk was not taken.", { cause });
    }
  }

  /** True if the answer has its end. An error after that end does not matter. */
  get #isComplete(): boolean {
    return !this.#hasFailed && this.#end !== undefined && isModelFinish(this.#end.finishReason);
  }
}

/** A text, or what a provider's package has sent in place of one: nothing, or an object that it has read. */
function textIn(value: unknown): string {
  return typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);
}

/** A count of tokens, unless a provider has made it of something else. */
function countOf(count: unknown): number | undefined {
  return typeof count === "number" && count >= 0 && count < Infinity ? count : undefined;
}

const SILENT = `The model said nothing for ${limits.modelSilenceMs} ms.`;

/**
 * True if the model itself reported the end. Providers make up a reason when a stream was cut, and do not
 * agree on which.
 */
function isModelFinish({ unified, raw }: End["finishReason"]): boolean {
  if (unified === "interrupted" || unified === "error") return false;
  return unified !== "other" || raw !== undefined;
}

type Part<Type extends LanguageModelV4StreamPart["type"] = LanguageModelV4StreamPart["type"]> =
  Extract<LanguageModelV4StreamPart, { type: Type }>;

/** Converts a part as the SDK's own server does. */
function chunkOf(part: object, tools: ToolSet = {}, errorText = ""): UIMessageChunk {
  const options = { tools, sendSources: true, redactToolErrors: true, onError: () => errorText };
  // The caller passes a part that becomes a chunk, with the fields that the SDK reads.
  return toUIMessageChunk(part as TextStreamPart<ToolSet>, options) as UIMessageChunk;
}

type BlockPart = Part<`${"text" | "reasoning"}-${"start" | "delta" | "end"}`>;

function blockChunk(part: BlockPart, idSuffix: string): UIMessageChunk {
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

/** The id of a call, and its tool and input when they are complete. */
type BegunCall = { readonly id: string; call?: string };

const MAX_ERROR_CHARS = 1_000;

/** The SDK parses no object with such a key, because code that copies it may change its prototype. */
const REFUSED_KEY =
  "The input has a key `__proto__`, or `prototype` under `constructor`, which no tool accepts. Use another key.";

/** The tokens with which a model ends a call, when an endpoint has not read them. */
const ENDS = /^(?:\s*<\|[^<|>]*\|>)+$/u;

/** The text of an input without what some models and endpoints add: quotes around it, or it more than once. */
function inputIn(written: string): string {
  const text = written.trim();
  if (text === "" || text === "null") return "{}";
  const value = jsonIn(text);
  const end = text.lastIndexOf("}") + 1;
  if (value === undefined && ENDS.test(text.slice(end))) return inputIn(text.slice(0, end));
  if (value === undefined) return repeatedIn(text) ?? written;
  const isQuoted = typeof value === "string" && isObject(jsonIn(value));
  return isQuoted ? value : written;
}

/**
 * The object at the end of a text that is nothing else but beginnings of it, or the whole of it: an endpoint has sent
 * all of the input so far with each delta, or all of it again at the end. Cost: linear.
 */
function repeatedIn(text: string): string | undefined {
  let at = text.length;
  for (let tries = 0; tries < MAX_STARTS && at > 0; tries++) {
    at = text.lastIndexOf("{", at - 1);
    const whole = text.slice(Math.max(at, 0));
    if (jsonIn(whole) === undefined) continue;
    // It may be a part of an object that is cut off.
    if (/[:,[]$/u.test(text.slice(0, at).trimEnd())) return undefined;
    let end = 0;
    for (let length = 1; length > 0 && end < at; end += length) {
      length = 0;
      while (end + length < at && text[end + length] === whole[length]) length++;
    }
    return end === at ? whole : undefined;
  }
  return undefined;
}

/** Objects inside an input that is sent repeatedly. */
const MAX_STARTS = 200;
