import { createWorkersAI } from "workers-ai-provider";
import { ByrefError } from "../../errors.ts";
import type { Bindings } from "../app-env.ts";
import type { ModelProvider } from "./model.ts";

/**
 * `workers-ai:<model>`: Cloudflare's own models, through the binding `AI`. The repository's wrangler.toml
 * does not declare the binding: it has no local version, so local development would require an account. To
 * use it, add `[ai]` with `binding = "AI"`.
 */
export const workersAiModels: ModelProvider = {
  name: "workers-ai",
  model(id, _settings, env) {
    const { AI: binding }: Partial<Bindings> = env;
    if (binding === undefined) {
      throw new ByrefError(
        "bad_configuration",
        'A workers-ai model needs the binding AI. Add [ai] binding = "AI" to wrangler.toml.',
      );
    }
    return createWorkersAI({ binding })(id);
  },
};
