import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type ScriptedCall, scriptedModel } from "../../../testing/src/testing/scripted-model.ts";

/** Returns a model whose first calls follow a script, and all others are those of `model`. */
export function scriptedLead(
  script: readonly (string | ScriptedCall)[],
  model: LanguageModelV4,
): LanguageModelV4 {
  const lead = scriptedModel(script);
  const next = () => (lead.calls.length < script.length ? lead : model);
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => next().doGenerate(options),
    doStream: (options) => next().doStream(options),
  };
}
