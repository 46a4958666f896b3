import type { LanguageModel } from "ai";
import type { Settings } from "../settings.ts";
import { modelNamed } from "./model-settings.ts";

/**
 * A kind of model that `MODEL` may name. Each built-in provider has its own file in `models/` and is imported
 * separately, because it adds up to 60 KiB to the Worker.
 */
export interface ModelProvider {
  /** The part of `MODEL` before the colon. Only `demo` has no colon and no id. */
  readonly name: string;
  /**
   * Creates the model with that id. Throws `bad_configuration` if a binding is missing. Settings of built-in
   * kinds were checked before.
   */
  model(id: string, settings: Settings, env: Cloudflare.Env): LanguageModel;
}

/** Creates a function that makes the model named by `MODEL` from one of the providers. */
export function modelFromSettings(
  ...providers: readonly ModelProvider[]
): (settings: Settings, env: Cloudflare.Env) => LanguageModel {
  return (settings, env) => {
    const { kind, id } = modelNamed(settings, providers);
    return kind.model(id, settings, env);
  };
}

/** Removes a final slash: endpoints append paths that begin with one. */
export function withoutTrailingSlash(url: string): string {
  return url.replace(/\/$/, "");
}
