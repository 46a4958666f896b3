import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "ai";
import { demoModel } from "./demo-model.ts";
import type { Settings } from "./settings.ts";

const OPENAI_COMPATIBLE = "openai-compatible:";

/** The model that `MODEL` names. The settings have been checked: an endpoint is there if it is needed. */
export function modelFromSettings(settings: Settings): LanguageModel {
  const { MODEL, MODEL_BASE_URL = "", MODEL_API_KEY } = settings;
  if (!MODEL.startsWith(OPENAI_COMPATIBLE)) return demoModel();
  const provider = createOpenAICompatible({
    name: "openai-compatible",
    baseURL: MODEL_BASE_URL,
    includeUsage: true,
    ...(MODEL_API_KEY === undefined ? {} : { apiKey: MODEL_API_KEY }),
  });
  return provider(MODEL.slice(OPENAI_COMPATIBLE.length));
}
