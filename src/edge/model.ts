import type { LanguageModel } from "ai";
import type { Settings } from "./settings.ts";
import { ByrefError } from "../errors.ts";

declare global {
  namespace Cloudflare {
    /** Merges with the one of Workers. Node has none, and its programs import models too. */
    interface Env {}
  }
}

/**
 * A kind of model that `MODEL` may name. Each built-in provider is a file of `packages/providers` and is imported
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

/** What a kind of model requires: a setting, and why. */
const NEEDS: Readonly<
  Record<string, readonly [setting: "MODEL_API_KEY" | "MODEL_BASE_URL", why: string]>
> = {
  anthropic: ["MODEL_API_KEY", "an anthropic model needs a key"],
  openai: ["MODEL_API_KEY", "an openai model needs a key"],
  "openai-compatible": ["MODEL_BASE_URL", "an openai-compatible model needs its endpoint"],
};

/** The only kind without a model id. */
const DEMO = "demo";

/** The kinds of models of the deployable Worker. */
export const modelKinds = [DEMO, ...Object.keys(NEEDS), "workers-ai"].map((name) => ({ name }));

/**
 * The kind and the model id in `MODEL`; the demo model has no id. Throws `bad_configuration`, whose message
 * contains no values. Applications with their own `model` may use `MODEL` freely.
 */
export function modelNamed<Kind extends Pick<ModelProvider, "name">>(
  settings: Settings,
  kinds: readonly Kind[],
): { readonly kind: Kind; readonly id: string } {
  const [name = "", ...rest] = settings.MODEL.split(":");
  const id = rest.join(":");
  const kind = kinds.find((kind) => kind.name === name);
  const isComplete = name === DEMO ? settings.MODEL === DEMO : id !== "";
  if (kind === undefined || !isComplete) {
    const forms = kinds.map(({ name }) => (name === DEMO ? name : `${name}:<model>`)).join(", ");
    // The export of `byref/anthropic` is `anthropicModels`.
    const models = `${name.replaceAll(/-(\w)/gu, (_, first: string) => first.toUpperCase())}Models`;
    const isBuiltIn = kind === undefined && modelKinds.some((one) => one.name === name);
    const more = ` For ${name}:<model> pass ${models} of byref/${name} to modelFromSettings.`;
    const message = `MODEL must be one of ${forms}.${isBuiltIn && name !== DEMO ? more : ""}`;
    throw new ByrefError("bad_configuration", message);
  }
  const [setting, why] = NEEDS[name] ?? [];
  if (setting !== undefined && settings[setting] === undefined) {
    throw new ByrefError("bad_configuration", `${setting} must be set: ${why}.`);
  }
  return { kind, id };
}
