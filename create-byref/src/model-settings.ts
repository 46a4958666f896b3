import { ChoiceError } from "./choice-error.ts";

interface ModelChoice {
  readonly model: string;
  readonly modelBaseUrl?: string | undefined;
}

/** Endpoints with OpenAI's chat completions, for the providers whose own packages the templates leave out. */
const ENDPOINTS: Readonly<Record<string, string>> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
};

/** Where Ollama listens. */
const LOCAL_ENDPOINT = "http://localhost:11434/v1";

/**
 * Returns the lines of `.dev.vars` or `.env` that choose the model; empty for the demo model, which is the
 * default of the templates. Keys are left for the person to write. Throws `ChoiceError`.
 */
export function modelSettings({ model, modelBaseUrl }: ModelChoice): string {
  if (model === "demo") return "";
  if (/[\r\n]/.test(`${model}${modelBaseUrl}`)) throw new ChoiceError("A model is one line.");
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
