import { AnthropicLanguageModel } from "@ai-sdk/anthropic/internal";
import { type ModelProvider, withoutTrailingSlash } from "./model.ts";
import { OpenAIResponsesLanguageModel } from "@ai-sdk/openai/internal";
import { defaultSettingsMiddleware, wrapLanguageModel } from "ai";
import { compact } from "../../value/json.ts";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

/**
 * `anthropic:<model>`: the Messages API. `MODEL_BASE_URL` may be that of an AI Gateway, `…/anthropic`. Uses
 * the model's class instead of `createAnthropic`, which adds 17 KiB and reads environment variables that are
 * not settings of this Worker.
 */
export const anthropicModels: ModelProvider = {
  name: "anthropic",
  model: (id, { MODEL_BASE_URL = "https://api.anthropic.com/v1", MODEL_API_KEY = "" }) =>
    new AnthropicLanguageModel(id, {
      provider: "anthropic.messages",
      baseURL: withoutTrailingSlash(MODEL_BASE_URL),
      headers: { "anthropic-version": "2023-06-01", "x-api-key": MODEL_API_KEY },
      supportedUrls: () => ({ "image/*": [ANY_URL], "application/pdf": [ANY_URL] }),
    }),
};

/** URLs that the endpoint fetches itself. */
const ANY_URL = /^https?:\/\/.*$/;

/**
 * `openai:<model>`: the Responses API. `MODEL_BASE_URL` may be that of an AI Gateway, `…/openai`. Uses the
 * model's class instead of `createOpenAI`, which adds 20 KiB and reads environment variables that are not
 * settings of this Worker.
 */
export const openaiModels: ModelProvider = {
  name: "openai",
  model(id, { MODEL_BASE_URL = "https://api.openai.com/v1", MODEL_API_KEY = "" }) {
    const baseURL = withoutTrailingSlash(MODEL_BASE_URL);
    const model = new OpenAIResponsesLanguageModel(id, {
      provider: "openai.responses",
      baseURL,
      url: ({ path }) => `${baseURL}${path}`,
      headers: { authorization: `Bearer ${MODEL_API_KEY}` },
      fileIdPrefixes: ["file-"],
    });
    // Without OpenAI's default `store`, the conversation is stored only here. With it, later calls would refer
    // to messages in OpenAI's copy instead of sending them.
    const settings = { providerOptions: { openai: { store: false } } };
    return wrapLanguageModel({ model, middleware: defaultSettingsMiddleware({ settings }) });
  },
};

/** `openai-compatible:<model>`: any endpoint with the chat completions API, at `MODEL_BASE_URL`. */
export const openaiCompatibleModels: ModelProvider = {
  name: "openai-compatible",
  model(id, { MODEL_BASE_URL = "", MODEL_API_KEY }) {
    const provider = createOpenAICompatible({
      name: "openai-compatible",
      baseURL: MODEL_BASE_URL,
      includeUsage: true,
      ...compact({ apiKey: MODEL_API_KEY }),
    });
    return provider(id);
  },
};
