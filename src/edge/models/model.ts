import type { LanguageModel } from "ai";
import { ByrefError } from "../../errors.ts";
import { demoModel } from "./demo-model.ts";
import type { Settings } from "../settings.ts";

/**
 * A kind of model that `MODEL` may name. Each of ours is a file of its own in `models/`, imported by
 * whoever wants it: a provider costs up to 60 KiB of the Worker.
 */
export interface ModelProvider {
  /** What stands in front of the colon in `MODEL`. */
  readonly name: string;
  /**
   * The model with that id. The settings have been checked: what this kind needs of them is there. Throws
   * `bad_configuration` if a binding is missing.
   */
  model(id: string, settings: Settings, env: Cloudflare.Env): LanguageModel;
}

/** How to make the model that `MODEL` names: `demo`, or of one of the providers. */
export function modelFromSettings(
  ...providers: readonly ModelProvider[]
): (settings: Settings, env: Cloudflare.Env) => LanguageModel {
  return (settings, env) => {
    const { MODEL } = settings;
    if (MODEL === "demo") return demoModel();
    const colon = MODEL.indexOf(":");
    const wanted = MODEL.slice(0, colon);
    const provider = providers.find(({ name }) => name === wanted);
    if (provider !== undefined) return provider.model(MODEL.slice(colon + 1), settings, env);
    const known = ["demo", ...providers.map(({ name }) => `${name}:<model>`)].join(", ");
    throw new ByrefError(
      "bad_configuration",
      `MODEL names a kind of model that is not built into this Worker; there are: ${known}.`,
    );
  };
}

/** Endpoints put their paths behind it, each with a slash of its own. */
export function withoutTrailingSlash(url: string): string {
  return url.replace(/\/$/, "");
}
