import { createWorkersAI } from "workers-ai-provider";
import { ByrefError } from "../../errors.ts";
import type { Bindings } from "../bindings.ts";
import type { ModelProvider } from "./model.ts";

/**
 * `workers-ai:<model>`: Cloudflare's own, through the binding `AI`. The binding is not declared in our
 * wrangler.toml: it has no local form, so that starting here would need an account. To use it, add
 *
 *     [ai]
 *     binding = "AI"
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
