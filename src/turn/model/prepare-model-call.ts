import { compact } from "../../value/json.ts";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import { asSchema } from "@ai-sdk/provider-utils";
import { type LanguageModel, type ModelMessage, type ToolSet, wrapLanguageModel } from "ai";
import { ByrefError } from "../../errors.ts";
import type { ModelName } from "../../tool/observer.ts";
import { acceptablePrompt, providerMessage } from "./acceptable-prompt.ts";
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

/** Prepares the call of a model of any version that the SDK knows. */
export async function prepareModelCall(request: ModelRequest): Promise<ModelCall> {
  const { instructions, hasTags = false, hasList = false, outlined } = request;
  const model = resolvedModel(request.model);
  const tools = await Promise.all(Object.entries(request.tools).map(definitionOf));
  // Providers refuse an empty message.
  const system = instructions === "" ? [] : [{ role: "system" as const, content: instructions }];
  const plain = [...system, ...request.messages.map(providerMessage)];
  const { provider, modelId } = model;
  const prompt = acceptablePrompt(plain, { provider, modelId, tools, hasTags, hasList });
  return {
    model,
    plain,
    options: {
      prompt: outlined === undefined ? prompt : withOutline(prompt, outlined),
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
