import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type ScriptedCall, scriptedModel } from "../../../testing/src/testing/scripted-model.ts";

/** The first calls of a turn. */
export interface Lead {
  readonly script: readonly (string | ScriptedCall)[];
  /** Distinguishes the ids of its calls from those of other turns. */
  readonly turn: number;
}

/** Returns a model whose first calls follow a script, and all others are those of `model`. */
export function scriptedLead({ script, turn }: Lead, model: LanguageModelV4): LanguageModelV4 {
  const lead = scriptedModel(
    script.map((step, index) =>
      typeof step === "string" ? step : { id: `lead_${turn}_${index}`, ...step },
    ),
  );
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
