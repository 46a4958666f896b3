import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type LanguageModel, wrapLanguageModel } from "ai";
import { ByrefError } from "../../errors.ts";
import type { ModelName } from "../../tool/observer.ts";

/**
 * The model in the newest version of the specification. Throws `bad_configuration` for one of a version that is
 * not known, or that is given as text where no provider is the default. The SDK's own resolving brings its
 * gateway along, for models that are given as text: 28 KiB of a Worker (gzip), used or not.
 */
export function resolvedModel(model: LanguageModel): LanguageModelV4 {
  if (typeof model === "string") return resolvedModel(namedModel(model));
  switch (model.specificationVersion) {
    case "v4":
      return model;
    case "v3":
    case "v2":
      return wrapLanguageModel({ model, middleware: [] });
    default:
      throw new ByrefError(
        "bad_configuration",
        "The model is of a version that is not known here.",
      );
  }
}

/** What it is called; whose a model is that is given as text is not known. */
export function modelNameOf(model: LanguageModel): ModelName {
  if (typeof model === "string") return { model, provider: "unknown" };
  return { model: model.modelId, provider: model.provider };
}

function namedModel(name: string): Exclude<LanguageModel, string> {
  const provider = globalThis.AI_SDK_DEFAULT_PROVIDER;
  if (provider !== undefined) return provider.languageModel(name);
  const message = "A model given as text needs AI_SDK_DEFAULT_PROVIDER; pass a provider's model.";
  throw new ByrefError("bad_configuration", message);
}
