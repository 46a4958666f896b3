import {
  convertToModelMessages,
  isStepCount,
  type LanguageModel,
  type ModelMessage,
  streamText,
  type ToolSet,
  toUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { tools as ordinaryTools } from "./conformance-cases.ts";
import {
  type ScriptedModel,
  scriptedModel,
  type Step,
} from "../../packages/testing/src/testing.ts";
import { acceptablePrompt } from "../../src/turn/model/acceptable-prompt.ts";
import { chunksOf, Conversation, readMessage } from "./turn.ts";

/** What a client sees of an answer. */
export interface Seen {
  readonly parts: readonly unknown[];
  /** Number of error chunks. */
  readonly errors: number;
  /** Errors that the stream reader itself reported. */
  readonly complaints: readonly string[];
}

export interface Asked {
  readonly model: LanguageModel;
  readonly tools?: ToolSet;
  readonly signal?: AbortSignal;
  readonly onChunk?: (chunk: UIMessageChunk) => void;
  /** A second question, asked after the first answer and with it in the history. */
  readonly next?: string;
}

type Fields = Readonly<Record<string, unknown>>;

const QUESTION = "Hello.";

// Turns off the SDK's warnings about options that a provider does not support.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** Returns what a client sees of the SDK's own server. */
export async function askSdk(asked: Asked): Promise<Seen> {
  const messages: ModelMessage[] = [{ role: "user", content: QUESTION }];
  const chunks = await sdkChunks(asked, messages);
  if (asked.next !== undefined) {
    const { message } = await readMessage(chunks);
    const past: Omit<UIMessage, "id">[] = [
      { role: "user", parts: [{ type: "text", text: QUESTION }] },
      ...(message === undefined ? [] : [message]),
      { role: "user", parts: [{ type: "text", text: asked.next }] },
    ];
    const { tools = ordinaryTools } = asked;
    const options = { tools, ignoreIncompleteToolCalls: true };
    await sdkChunks(asked, await convertToModelMessages(past, options));
  }
  return seenIn(chunks);
}

async function sdkChunks(
  { model, tools = ordinaryTools, signal, onChunk }: Asked,
  messages: ModelMessage[],
): Promise<readonly UIMessageChunk[]> {
  const { stream } = streamText({
    model,
    tools,
    messages,
    stopWhen: isStepCount(20),
    maxRetries: 0,
    onError: () => undefined,
    ...(signal === undefined ? {} : { abortSignal: signal }),
  });
  const chunks: UIMessageChunk[] = [];
  try {
    for await (const chunk of toUIMessageStream({ stream, tools, sendSources: true })) {
      chunks.push(chunk);
      onChunk?.(chunk);
    }
  } catch {
    // A provider's stream that breaks also breaks the SDK's response, so its client sees an error.
    chunks.push({ type: "error", errorText: "The stream broke." });
  }
  return chunks;
}

/** Returns what a client sees of our server, and the parts that were stored. */
export async function askUs(asked: Asked): Promise<Seen & { readonly kept: readonly unknown[] }> {
  const { model, tools = ordinaryTools, signal, onChunk, next } = asked;
  const chat = new Conversation({ tools });
  const { chunks, history } = await chat.say({
    model,
    steps: [],
    question: QUESTION,
    ...(signal === undefined ? {} : { signal }),
    ...(onChunk === undefined ? {} : { onChunk }),
  });
  const answer = history.newest();
  const kept = answer?.role === "assistant" ? asJson(answer.parts) : [];
  if (next !== undefined) await chat.say({ model, steps: [], question: next });
  return { ...(await seenIn(chunks)), kept: kept.map(plain).map(withoutResultMetadata) };
}

async function seenIn(chunks: readonly UIMessageChunk[]): Promise<Seen> {
  // The reader emits its current message on metadata, but not on the start of a step alone.
  const end: UIMessageChunk = { type: "message-metadata", messageMetadata: {} };
  const { message, errors } = await readMessage([...chunks, end]);
  const sent = chunksOf(chunks, "error").length;
  return {
    parts: asJson(message?.parts ?? [])
      .map(plain)
      .map(withoutResultMetadata),
    errors: sent,
    // The reader also reports the errors that were sent.
    complaints: errors.slice(sent),
  };
}

/** Runs the same steps in both loops. The last step answers `next`. */
export async function askBoth(steps: readonly Step[], asked: Omit<Asked, "model"> = {}) {
  const models = [scriptedModel(steps), scriptedModel(steps)] as const;
  const [sdk, ours] = await Promise.all([
    askSdk({ ...asked, model: models[0] }),
    askUs({ ...asked, model: models[1] }),
  ]);
  return {
    sdk: { ...sdk, prompts: promptsIn(models[0]) },
    ours: { ...ours, prompts: promptsIn(models[1]) },
  };
}

/**
 * Returns the prompts in the form that all providers accept, without what our loop adds: instructions, the list of
 * variables and their names.
 */
function promptsIn({ calls, provider, modelId }: ScriptedModel): readonly unknown[] {
  return calls.map(({ prompt, tools = [] }) =>
    asJson(acceptablePrompt(prompt, { provider, modelId, tools }))
      .filter(({ role, content }) => role !== "system" && !JSON.stringify(content).includes("<var"))
      .map(({ role, content }) => ({ role, content: (content as Fields[]).map(plainPart) })),
  );
}

/** Keeps only the value: ours is always JSON, the SDK's is text or JSON. */
function plainPart(part: Fields): unknown {
  if (part.type !== "tool-result") return part;
  const { value } = part.output as Fields;
  const { output } = plain({ output: value });
  const { errorText = output } = plain({ errorText: output });
  return { ...part, output: errorText };
}

function asJson(parts: readonly unknown[]): Fields[] {
  return JSON.parse(JSON.stringify(parts)) as Fields[];
}

/** Removes what our loop adds to a tool part: the variable's name and the error code. */
function plain(part: Fields): Fields {
  const { output, errorText } = part;
  const isOurs = typeof output === "object" && output !== null && "$var" in output;
  return {
    ...part,
    ...(isOurs && "value" in output ? { output: output.value } : {}),
    ...(typeof errorText === "string" ? { errorText: plainError(errorText) } : {}),
  };
}

/** Our errors have codes where the SDK's have class names, and list the available tools differently. */
function plainError(text: string): string {
  if (/^(?:AI_NoSuchToolError|unknown_tool): .*nope/u.test(text)) return "There is no tool nope.";
  if (/^AI_InvalidToolInputError: .*AI_JSONParseError/su.test(text)) return NOT_JSON;
  return text.replace(/^(?:tool_failed: |Error: )/u, "");
}

const NOT_JSON = "invalid_tool_input: The input is not JSON.";

/**
 * A provider's metadata of a call stays with the call. The SDK also adds it to results of tools that run
 * here.
 */
function withoutResultMetadata(part: Fields): Fields {
  const { resultProviderMetadata, ...rest } = part;
  return part.providerExecuted === true ? { ...rest, resultProviderMetadata } : rest;
}

/** Ends a part, because with Byref no part of a turn that broke off stays open. */
export function endedPart(part: unknown): unknown {
  const { rawInput: _, ...fields } = part as Readonly<Record<string, unknown>>;
  if (fields.state === "streaming") return { ...fields, state: "done" };
  if (fields.state !== "input-streaming") return part;
  const errorText = "skipped: The answer ended before the input of this call was complete.";
  return { ...fields, state: "output-error", input: {}, errorText };
}
