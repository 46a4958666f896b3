import { OpenAIResponsesLanguageModel } from "@ai-sdk/openai/internal";
import { defaultSettingsMiddleware, wrapLanguageModel } from "ai";
import type { ModelProvider } from "../../../src/internal-edge.ts";
import { errorIn, fetchEvents } from "./streamed-events.ts";

/**
 * `openai:<model>`: the Responses API. `MODEL_BASE_URL` may be that of an AI Gateway, `…/openai`. Uses the
 * model's class instead of `createOpenAI`, which adds 20 KiB and reads environment variables that are not
 * settings of this Worker.
 */
export const openaiModels: ModelProvider = {
  name: "openai",
  model(id, { MODEL_BASE_URL = "https://api.openai.com/v1", MODEL_API_KEY = "" }) {
    const baseURL = MODEL_BASE_URL.replace(/\/$/, "");
    const model = new OpenAIResponsesLanguageModel(id, {
      provider: "openai.responses",
      baseURL,
      url: ({ path }) => `${baseURL}${path}`,
      headers: () => ({ authorization: `Bearer ${MODEL_API_KEY}` }),
      fileIdPrefixes: ["file-"],
      fetch: fetchResponses,
    });
    return wrapLanguageModel({ model, middleware: defaultSettingsMiddleware({ settings }) });
  },
};

/** `fetch` for the Responses API. Gateways send errors of other forms. */
const fetchResponses = fetchEvents(() => ({
  read: (event) => {
    const failure = event.type === undefined ? errorIn(event) : undefined;
    return [failure === undefined ? event : { type: "error", sequence_number: 0, ...failure }];
  },
}));

/**
 * Turns off OpenAI's default `store`, so that the conversation is stored only here. With it, later calls would refer
 * to messages in OpenAI's copy instead of sending them.
 */
const settings = { providerOptions: { openai: { store: false } } };
