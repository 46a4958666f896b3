import { compact } from "../../value/json.ts";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import { type LanguageModel, type ModelMessage, type ToolSet, wrapLanguageModel } from "ai";
import { convertToLanguageModelPrompt, prepareTools, standardizePrompt } from "ai/internal";
import { ByrefError } from "../../errors.ts";
import type { ModelName } from "../../tool/observer.ts";
import { acceptablePrompt } from "./acceptable-prompt.ts";
import { withOutline } from "./refused-prompt.ts";

/** A request to a model. */
export interface ModelRequest {
  readonly model: LanguageModel;
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: ToolSet;
  /** The tools that a call may name, offered or not. Default: those that are offered. */
  readonly callable?: ToolSet;
  /** True if the model writes calls as tags in its text. */
  readonly hasTags?: boolean;
  /** True if the last message is the list of variables. */
  readonly hasList?: boolean;
  /** The earlier turn that the provider refuses, counted from 0. It is sent in outline. */
  readonly outlined?: number | undefined;
  readonly signal: AbortSignal;
}

/** A request in the form that providers accept. */
export interface ModelCall {
  readonly model: LanguageModelV4;
  readonly options: LanguageModelV4CallOptions;
  /** The prompt in which each result is still as its tool returned it. */
  readonly plain: LanguageModelV4Prompt;
}

/** Prepares the same call as the SDK's own loop, for a model of any version that the SDK knows. */
export async function prepareModelCall(request: ModelRequest): Promise<ModelCall> {
  const { instructions, tools, signal, hasTags = false, hasList = false, outlined } = request;
  const model = resolvedModel(request.model);
  const supportedUrls = await model.supportedUrls;
  const given = await standardizePrompt({ messages: [...request.messages] });
  const messages = await promptMessages(given.messages, (messages) =>
    convertToLanguageModelPrompt({
      prompt: { instructions: undefined, messages },
      supportedUrls,
      download: undefined,
      abortSignal: signal,
      provider: model.provider.split(".")[0] ?? model.provider,
    }),
  );
  const prepared = await prepareTools({ tools });
  // Providers refuse an empty message.
  const system = instructions === "" ? [] : [{ role: "system" as const, content: instructions }];
  const plain = [...system, ...messages];
  const { provider, modelId } = model;
  const reader = { provider, modelId, tools: prepared ?? [], hasTags, hasList };
  const prompt = acceptablePrompt(plain, reader);
  return {
    model,
    plain,
    options: {
      prompt: outlined === undefined ? prompt : withOutline(prompt, outlined),
      ...compact({ tools: prepared }),
      toolChoice: { type: "auto" },
    },
  };
}

type Convert = (messages: ModelMessage[]) => Promise<LanguageModelV4Prompt>;

/**
 * Converts messages to the form that providers accept. `convert` is the SDK's conversion, the slowest part of
 * a turn with a thousand messages. Most messages of a long history contain only text and are converted here.
 */
export async function promptMessages(
  messages: readonly ModelMessage[],
  convert: Convert,
): Promise<LanguageModelV4Prompt> {
  const prompt: LanguageModelV4Prompt = [];
  let others: ModelMessage[] = [];
  for (const message of messages) {
    const text = textMessage(message);
    if (text === undefined) {
      others.push(message);
      continue;
    }
    // Converted together, because a call and its result may be in consecutive messages.
    if (others.length > 0) prompt.push(...(await convert(others)));
    others = [];
    prompt.push(text);
  }
  if (others.length > 0) prompt.push(...(await convert(others)));
  return prompt;
}

/** Converts a message as the SDK does. Undefined if it contains anything but text. */
function textMessage({
  role,
  content,
  providerOptions,
}: ModelMessage): LanguageModelV4Message | undefined {
  if ((role !== "user" && role !== "assistant") || providerOptions !== undefined) return undefined;
  if (typeof content === "string") return { role, content: [{ type: "text", text: content }] };
  const texts: { type: "text"; text: string }[] = [];
  for (const part of content) {
    if (part.type !== "text" || part.text === "" || part.providerOptions !== undefined)
      return undefined;
    texts.push({ type: "text", text: part.text });
  }
  return { role, content: texts };
}

/**
 * Returns the model in the newest version of the specification. Throws `bad_configuration` for an unknown
 * version, and for a model given as text without a default provider. The SDK's own resolver would bundle its
 * gateway for models given as text: 28 KiB of a Worker (gzip), used or not.
 */
export function resolvedModel(model: LanguageModel): LanguageModelV4 {
  if (typeof model === "string") return resolvedModel(namedModel(model));
  switch (model.specificationVersion) {
    case "v4":
      return model;
    case "v3":
    case "v2":
      return wrapLanguageModel({ model, middleware: [] });
    default:
      throw new ByrefError(
        "bad_configuration",
        "The model is of a version that is not known here.",
      );
  }
}

/** The model's name. The provider of a model given as text is unknown. */
export function modelNameOf(model: LanguageModel): ModelName {
  if (typeof model === "string") return { model, provider: "unknown" };
  return { model: model.modelId, provider: model.provider };
}

function namedModel(name: string): Exclude<LanguageModel, string> {
  const provider = globalThis.AI_SDK_DEFAULT_PROVIDER;
  if (provider !== undefined) return provider.languageModel(name);
  const message = "A model given as text needs AI_SDK_DEFAULT_PROVIDER; pass a provider's model.";
  throw new ByrefError("bad_configuration", message);
}
