import type { LanguageModel } from "ai";
import type { Settings } from "../settings.ts";
import { modelNamed } from "./model-settings.ts";

/**
 * A kind of model that `MODEL` may name. Each of ours is a file of its own in `models/`, imported by
 * whoever wants it: a provider costs up to 60 KiB of the Worker.
 */
export interface ModelProvider {
  /** What `MODEL` names in front of its colon. `demo` alone has no colon and no id. */
  readonly name: string;
  /**
   * The model with that id. Throws `bad_configuration` if a binding is missing. The settings that the
   * kinds of Byref need have been checked.
   */
  model(id: string, settings: Settings, env: Cloudflare.Env): LanguageModel;
}

/** How to make the model that `MODEL` names, which is one of the providers'. */
export function modelFromSettings(
  ...providers: readonly ModelProvider[]
): (settings: Settings, env: Cloudflare.Env) => LanguageModel {
  return (settings, env) => {
    const { kind, id } = modelNamed(settings, providers);
    return kind.model(id, settings, env);
  };
}

/** Endpoints put their paths behind it, each with a slash of its own. */
export function withoutTrailingSlash(url: string): string {
  return url.replace(/\/$/, "");
}
