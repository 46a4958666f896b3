import {
  experimental_streamLanguageModelCall as streamLanguageModelCall,
  type LanguageModel,
  type LanguageModelStreamPart,
  type LanguageModelUsage,
  type ModelMessage,
  type ToolSet,
  toUIMessageChunk,
  type UIMessageChunk,
  type FinishReason,
} from "ai";
import { ByrefError, messageOf } from "../errors.ts";
import { limits } from "../limits.ts";
import { clip, type Json } from "../value/json.ts";
import type { SavingsCounter } from "./savings.ts";
import { Watchdog } from "./watchdog.ts";

/** What a step needs of its turn. */
export interface StepContext {
  readonly model: LanguageModel;
  readonly instructions: string;
  /** As the model is shown them. */
  readonly tools: ToolSet;
  readonly savings: SavingsCounter;
  readonly signal: AbortSignal;
  /** The text without anything that is secret. */
  readonly redact: (text: string) => string;
  /** Receives each chunk as the model wrote it. Awaited before the next. */
  readonly write: (chunk: UIMessageChunk) => void | Promise<void>;
}

export interface ToolCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Json;
}

export interface StepResult {
  readonly finishReason: FinishReason;
  readonly usage: LanguageModelUsage | undefined;
  /** Calls that were asked of us and are well-formed. */
  readonly calls: readonly ToolCall[];
  /** Calls that were not, and have been answered with an error. */
  readonly invalidCalls: number;
}

/** One call of the model: its parts go to `write`, its tool calls are returned. Throws `model_failed`. */
export async function callModel(
  context: StepContext,
  messages: readonly ModelMessage[],
): Promise<StepResult> {
  const watchdog = new Watchdog(context.signal, limits.modelSilenceMs);
  let reader: ReadableStreamDefaultReader<LanguageModelStreamPart> | undefined;
  try {
    const call = streamLanguageModelCall({
      model: context.model,
      instructions: context.instructions,
      messages: [...messages],
      tools: context.tools,
      abortSignal: watchdog.signal,
      onStart: ({ promptMessages }) => context.savings.addPrompt(promptMessages),
      _internal: { collectContent: false },
    });
    const { stream } = await Promise.race([call, watchdog.aborted]);
    const opened = stream.getReader();
    reader = opened;
    // A stream that does not heed the signal is not waited for either.
    watchdog.aborted.catch((reason: unknown) => opened.cancel(reason).catch(() => undefined));
    const result = await readParts(opened, context, watchdog);
    watchdog.signal.throwIfAborted();
    if (result !== undefined) return result;
    throw new ByrefError("model_failed", "The model's answer broke off before its end.");
  } catch (error) {
    const reason: unknown = watchdog.signal.aborted ? watchdog.signal.reason : error;
    if (context.signal.aborted) throw reason;
    throw reason instanceof ByrefError ? reason : modelFailed(reason, context);
  } finally {
    watchdog.end();
    // An endpoint that was not read to its end is let go.
    reader?.cancel().catch(() => undefined);
  }
}

async function readParts(
  reader: ReadableStreamDefaultReader<LanguageModelStreamPart>,
  context: StepContext,
  watchdog: Watchdog,
): Promise<StepResult | undefined> {
  const calls: ToolCall[] = [];
  let invalidCalls = 0;
  let end: Extract<LanguageModelStreamPart, { type: "model-call-end" }> | undefined;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const part = read.value;
    watchdog.touch();
    if (part.type === "error") throw modelFailed(part.error, context);
    if (part.type === "model-call-end") end = part;
    if (part.type === "tool-call" && part.providerExecuted !== true) {
      if (isTooDeep(part.input)) {
        invalidCalls++;
        await context.write(tooDeep(part));
        continue;
      }
      if (part.invalid === true) invalidCalls++;
      else calls.push(toolCallFrom(part));
    }
    const chunk = toChunk(part, context.tools);
    if (chunk !== undefined) await context.write(chunk);
  }
  return end && { finishReason: end.finishReason, usage: end.usage, calls, invalidCalls };
}

/** Deeper than any tool's input may be: writing it down would end the turn. */
function isTooDeep(input: unknown): boolean {
  let level: readonly unknown[] = [input];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.maxDepth) return true;
    level = level.flatMap((value) =>
      typeof value === "object" && value !== null ? Object.values(value) : [],
    );
  }
  return false;
}

function tooDeep({ toolCallId, toolName }: { toolCallId: string; toolName: string }) {
  const errorText = `invalid_tool_input: The input is deeper than ${limits.maxDepth} levels.`;
  return { type: "tool-input-error", toolCallId, toolName, input: {}, errorText } as const;
}

function toolCallFrom(part: { toolCallId: string; toolName: string; input: unknown }): ToolCall {
  // The SDK made the input by parsing JSON.
  return { toolCallId: part.toolCallId, toolName: part.toolName, input: part.input as Json };
}

/** The chunk that the SDK's own server would send; undefined for parts that it does not send. */
function toChunk(part: LanguageModelStreamPart, tools: ToolSet): UIMessageChunk | undefined {
  switch (part.type) {
    case "model-call-start":
    case "model-call-end":
    case "model-call-response-metadata":
      return undefined;
    case "tool-error":
      // An invalid call was reported as such, with its error.
      return part.providerExecuted === true ? toUIMessageChunk(part, { tools }) : undefined;
    default:
      return toUIMessageChunk(part, { tools, sendSources: true });
  }
}

/** What an endpoint says may be long, and may repeat the key that it was sent. */
function modelFailed(error: unknown, context: StepContext): ByrefError {
  const said = context.redact(messageOf(error)).replaceAll(/\s+/g, " ");
  return new ByrefError("model_failed", `The model failed: ${clip(said, MAX_SAID_CHARS)}`);
}

const MAX_SAID_CHARS = 500;
