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
import { scriptedModel, type Step } from "../../src/testing.ts";
import { chunksOf, Conversation, readMessage, type Turn } from "./turn.ts";

/** What a client sees of an answer. */
export interface Seen {
  readonly parts: readonly unknown[];
  /** Error chunks. */
  readonly errors: number;
  /** What the reader itself complained of. */
  readonly complaints: readonly string[];
}

export interface Asked {
  readonly model: LanguageModel;
  readonly tools?: ToolSet;
  readonly signal?: AbortSignal;
  readonly onChunk?: (chunk: UIMessageChunk) => void;
  /** Asked when the first question has been answered, with the answer before it. */
  readonly next?: string;
}

type Fields = Readonly<Record<string, unknown>>;

const QUESTION = "Hello.";

// The SDK's loop says on the console what a provider does not support.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** What a client sees of the SDK's own server. */
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
    // A provider's stream that breaks breaks the SDK's response: its client sees an error as well.
    chunks.push({ type: "error", errorText: "The stream broke." });
  }
  return chunks;
}

/** What a client sees of ours, and the parts that were kept. */
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
  // Metadata makes the reader hand out what it has: a step's start alone does not.
  const end: UIMessageChunk = { type: "message-metadata", messageMetadata: {} };
  const { message, errors } = await readMessage([...chunks, end]);
  const sent = chunksOf(chunks, "error").length;
  return {
    parts: asJson(message?.parts ?? [])
      .map(plain)
      .map(withoutResultMetadata),
    errors: sent,
    // The reader reports what was sent as an error too.
    complaints: errors.slice(sent),
  };
}

/** The same steps for both loops; `next` is answered by the last of them. */
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

/** Prompts without what ours adds: instructions, the list of variables, their names. */
function promptsIn({ calls }: Pick<Turn, "calls">): readonly unknown[] {
  return calls.map(({ prompt }) =>
    asJson(prompt)
      .filter(({ role, content }) => role !== "system" && !JSON.stringify(content).includes("<var"))
      .map(({ role, content }) => ({ role, content: (content as Fields[]).map(plainPart) })),
  );
}

/**
 * A value is a text or JSON, and ours always JSON: the value alone counts. Input that was broken JSON is
 * an empty object in the SDK's loop, but a text, which providers refuse, when its client asks again.
 */
function plainPart(part: Fields): unknown {
  if (part.type === "tool-call" && typeof part.input === "string") return { ...part, input: {} };
  if (part.type !== "tool-result") return part;
  const { value } = part.output as Fields;
  const { output } = plain({ output: value });
  const { errorText = output } = plain({ errorText: output });
  return { ...part, output: errorText };
}

function asJson(parts: readonly unknown[]): Fields[] {
  return JSON.parse(JSON.stringify(parts)) as Fields[];
}

/** A part without what ours adds to tool parts: the variable's name, the error's code. */
function plain(part: Fields): Fields {
  const { output, errorText } = part;
  const isOurs = typeof output === "object" && output !== null && "$var" in output;
  return {
    ...part,
    ...(isOurs && "value" in output ? { output: output.value } : {}),
    ...(typeof errorText === "string" ? { errorText: plainError(errorText) } : {}),
  };
}

/** Ours has codes where the SDK names its classes, and says what the tools are in words of its own. */
function plainError(text: string): string {
  if (/^(?:AI_NoSuchToolError|unknown_tool): .*nope/u.test(text)) return "There is no tool nope.";
  if (/^AI_InvalidToolInputError: .*AI_JSONParseError/su.test(text)) return NOT_JSON;
  return text.replace(/^(?:tool_failed: |Error: )/u, "");
}

const NOT_JSON = "invalid_tool_input: The input is not JSON.";

/** What a provider said of a call is kept with the call; the SDK puts it beside our result as well. */
function withoutResultMetadata(part: Fields): Fields {
  const { resultProviderMetadata, ...rest } = part;
  return part.providerExecuted === true ? { ...rest, resultProviderMetadata } : rest;
}
