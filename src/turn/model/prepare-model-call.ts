import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { LanguageModel, ModelMessage, ToolSet } from "ai";
import { convertToLanguageModelPrompt, prepareTools, standardizePrompt } from "ai/internal";
import { promptMessages } from "./prompt-messages.ts";
import { resolvedModel } from "./resolved-model.ts";

/** What a model is asked. */
interface ModelRequest {
  readonly model: LanguageModel;
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: ToolSet;
  readonly signal: AbortSignal;
}

/** A request in the form that providers take. */
export interface ModelCall {
  readonly model: LanguageModelV4;
  readonly options: LanguageModelV4CallOptions;
}

/** The call that the SDK's own loop would make, of a model in any version that it knows. */
export async function prepareModelCall(request: ModelRequest): Promise<ModelCall> {
  const { instructions, tools, signal } = request;
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
  return {
    model,
    options: {
      prompt: [{ role: "system", content: instructions }, ...messages],
      ...(prepared === undefined ? {} : { tools: prepared }),
      toolChoice: { type: "auto" },
    },
  };
}
