import { OpenAIResponsesLanguageModel } from "@ai-sdk/openai/internal";
import { defaultSettingsMiddleware, wrapLanguageModel } from "ai";
import { type ModelProvider, withoutTrailingSlash } from "./model.ts";

const BASE_URL = "https://api.openai.com/v1";

/**
 * `openai:<model>`: the Responses API. `MODEL_BASE_URL` may be that of an AI Gateway, `…/openai`.
 * The model's class and not `createOpenAI`, which brings 20 KiB of other things along and reads
 * variables of the environment that are not ours.
 */
export const openaiModels: ModelProvider = {
  name: "openai",
  model(id, { MODEL_BASE_URL = BASE_URL, MODEL_API_KEY = "" }) {
    const baseURL = withoutTrailingSlash(MODEL_BASE_URL);
    const model = new OpenAIResponsesLanguageModel(id, {
      provider: "openai.responses",
      baseURL,
      url: ({ path }) => `${baseURL}${path}`,
      headers: { authorization: `Bearer ${MODEL_API_KEY}` },
      fileIdPrefixes: ["file-"],
    });
    return wrapLanguageModel({ model, middleware: WITHOUT_A_COPY });
  },
};

/**
 * The conversation is kept here and nowhere else. With `store`, which is the default there, later calls
 * would name messages of OpenAI's copy instead of carrying ours.
 */
const WITHOUT_A_COPY = defaultSettingsMiddleware({
  settings: { providerOptions: { openai: { store: false } } },
});
