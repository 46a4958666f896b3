import { ByrefError } from "../../errors.ts";
import type { Settings } from "../settings.ts";

/** The setting that a kind of model requires, and why. */
const NEEDS: Readonly<Record<string, readonly ["MODEL_API_KEY" | "MODEL_BASE_URL", string]>> = {
  anthropic: ["MODEL_API_KEY", "an anthropic model needs a key"],
  openai: ["MODEL_API_KEY", "an openai model needs a key"],
  "openai-compatible": ["MODEL_BASE_URL", "an openai-compatible model needs its endpoint"],
};

/** The kinds of models whose providers ship with Byref. */
export const modelKinds = ["anthropic", "openai", "openai-compatible", "workers-ai"] as const;

/**
 * The kind and the model id that `MODEL` names; undefined for the demo model. Throws `bad_configuration`,
 * which never contains a value. In applications with a `model` of their own `MODEL` may have any meaning.
 */
export function modelNamed(
  settings: Settings,
  kinds: readonly string[],
): { readonly kind: string; readonly id: string } | undefined {
  const { MODEL } = settings;
  if (MODEL === "demo") return undefined;
  const colon = MODEL.indexOf(":");
  const kind = MODEL.slice(0, Math.max(colon, 0));
  const id = MODEL.slice(colon + 1);
  if (!kinds.includes(kind) || id === "") {
    const forms = ["demo", ...kinds.map((name) => `${name}:<model>`)].join(", ");
    throw new ByrefError("bad_configuration", `MODEL must be one of ${forms}.`);
  }
  const [setting, why] = NEEDS[kind] ?? [];
  if (setting !== undefined && settings[setting] === undefined) {
    throw new ByrefError("bad_configuration", `${setting} must be set: ${why}.`);
  }
  return { kind, id };
}
