import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { compact } from "../../value/json.ts";
import { fetchCompletions } from "./completions.ts";
import type { ModelProvider } from "./model.ts";

/** `openai-compatible:<model>`: any endpoint with the chat completions API, at `MODEL_BASE_URL`. */
export const openaiCompatibleModels: ModelProvider = {
  name: "openai-compatible",
  model(id, { MODEL_BASE_URL = "", MODEL_API_KEY }) {
    const provider = createOpenAICompatible({
      name: "openai-compatible",
      baseURL: MODEL_BASE_URL,
      includeUsage: true,
      fetch: fetchCompletions,
      ...compact({ apiKey: MODEL_API_KEY }),
    });
    return provider(id);
  },
};
