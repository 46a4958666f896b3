import type { LanguageModelV4, LanguageModelV4Middleware } from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";

type WrapGenerate = NonNullable<LanguageModelV4Middleware["wrapGenerate"]>;
type TransformParams = NonNullable<LanguageModelV4Middleware["transformParams"]>;

/** Returns the model with other parameters. */
export function withParams(model: LanguageModelV4, transform: TransformParams): LanguageModelV4 {
  return wrapLanguageModel({
    model,
    middleware: { specificationVersion: "v4", transformParams: transform },
  });
}

/** Returns the model with a function around each call. */
export function around(model: LanguageModelV4, wrapGenerate: WrapGenerate): LanguageModelV4 {
  return wrapLanguageModel({ model, middleware: { specificationVersion: "v4", wrapGenerate } });
}
