import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { anthropicMessages } from "./anthropic-messages.ts";
import { startChatCompletions } from "./chat-completions.ts";
import { type EndpointStep, type ModelEndpoint, startModelEndpoint } from "./model-endpoint.ts";
import { openaiResponses } from "./openai-responses.ts";
import {
  anthropicRules,
  bedrockRules,
  type Body,
  chatRules,
  gemmaRules,
  googleRules,
  mistralRules,
  responsesRules,
  type Rule,
} from "./strict-rules.ts";

/** A provider's package, whose requests a strict endpoint on the loopback address checks. */
export interface StrictProvider {
  readonly name: string;
  readonly model: LanguageModelV4;
  /** The errors of the requests since the last call, each with the source of its rule. */
  takeErrors(): readonly string[];
}

/** Starts an endpoint for each provider. It answers "Done.", or 400 with the error of the first broken rule. */
export async function startStrictProviders(): Promise<{
  readonly providers: readonly StrictProvider[];
  stop(): Promise<void>;
}> {
  const endpoints: Pick<ModelEndpoint, "down">[] = [];
  const strict = async <Given extends Body>(
    [name, rules]: readonly [name: string, rules: readonly Rule[]],
    starting: Promise<ModelEndpoint<Given>>,
    modelAt: (url: string) => LanguageModelV4,
  ): Promise<StrictProvider> => {
    const endpoint = await starting;
    const errors: string[] = [];
    endpoint.play((body) => {
      const broken = rules.flatMap(({ source, errors: errorsIn }) =>
        errorsIn(body).map((message) => ({ message, source })),
      );
      errors.push(...broken.map(({ message, source }) => `${name}: ${message} (${source})`));
      return answerTo(broken[0]?.message);
    });
    endpoints.push(endpoint);
    return { name, model: modelAt(endpoint.url), takeErrors: () => errors.splice(0) };
  };
  const chat = (name: string, rules: readonly Rule[], id: string) =>
    strict([name, rules], startChatCompletions(), (baseURL) =>
      createOpenAICompatible({ name: "compatible", baseURL })(id),
    );
  const providers = await Promise.all([
    strict(["Anthropic", anthropicRules], startModelEndpoint<Body>(anthropicMessages), (baseURL) =>
      createAnthropic({ baseURL, apiKey: "none" })("claude-test"),
    ),
    strict(
      ["OpenAI Responses", responsesRules],
      startModelEndpoint<Body>(openaiResponses),
      (baseURL) => createOpenAI({ baseURL, apiKey: "none" }).responses("gpt-test"),
    ),
    strict(["OpenAI Chat", chatRules], startChatCompletions(), (baseURL) =>
      createOpenAI({ baseURL, apiKey: "none" }).chat("gpt-test"),
    ),
    chat("Google", [...chatRules, ...googleRules], "gemini-test"),
    chat("Bedrock", [...chatRules, ...bedrockRules], "nova-test"),
    chat("Mistral", [...chatRules, ...mistralRules], "served"),
    chat("Gemma", [...chatRules, ...gemmaRules], "served"),
  ]);
  const stop = async () => void (await Promise.all(endpoints.map((endpoint) => endpoint.down())));
  return { providers, stop };
}

function answerTo(error: string | undefined): EndpointStep {
  if (error === undefined) return { kind: "text", text: "Done." };
  const body = { type: "error", error: { type: "invalid_request_error", message: error } };
  return { kind: "status", status: 400, body };
}
