import { ChoiceError } from "./choice-error.ts";

interface ModelChoice {
  readonly model: string;
  readonly modelBaseUrl?: string | undefined;
}

/** Endpoints with OpenAI's chat completions, for providers whose own packages are not in the templates. */
const ENDPOINTS: Readonly<Record<string, string>> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
};

/** The default address of Ollama. */
const LOCAL_ENDPOINT = "http://localhost:11434/v1";

/**
 * Returns the lines of `.dev.vars` or `.env` that choose the model; empty for the demo model, which is the default
 * of the templates. The user writes the keys. Throws `ChoiceError`.
 */
export function modelSettings({ model, modelBaseUrl }: ModelChoice): string {
  if (model === "demo") return "";
  // Settings files end a value there, or read it otherwise.
  if (/[\r\n#"'`]/.test(`${model}${modelBaseUrl}`))
    throw new ChoiceError("A model and its address are one line each, without quotes and #.");
  const [, provider = "", id = ""] = /^([a-z-]+):(.+)$/.exec(model) ?? [];
  if (provider === "workers-ai") return `MODEL=${model}\n`;
  const endpoint = modelBaseUrl ?? ENDPOINTS[provider] ?? LOCAL_ENDPOINT;
  if (provider === "openai-compatible" || provider in ENDPOINTS) {
    const lines = [`MODEL=openai-compatible:${id}`, `MODEL_BASE_URL=${endpoint}`];
    const key = `${provider in ENDPOINTS ? "" : "# "}MODEL_API_KEY=`;
    return `${[...lines, key].join("\n")}\n`;
  }
  throw new ChoiceError(
    `"${model}" names no model. Write demo, workers-ai:<model>, openai:<model>, anthropic:<model> or openai-compatible:<model>.`,
  );
}
