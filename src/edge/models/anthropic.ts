import { AnthropicLanguageModel } from "@ai-sdk/anthropic/internal";
import { fetchMessages } from "./messages.ts";
import { type ModelProvider, withoutTrailingSlash } from "./model.ts";

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
      fetch: fetchMessages,
      supportedUrls: () => ({ "image/*": [ANY_URL], "application/pdf": [ANY_URL] }),
    }),
};

/** URLs that the endpoint fetches itself. */
const ANY_URL = /^https?:\/\/.*$/;
