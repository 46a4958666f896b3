import { createRuntime } from "../src/byref.ts";
import type { Bare, Kept } from "./bare-objects.ts";
import { answerMeter, metered, type MeterEnv } from "./meter.ts";
import { scriptedModel } from "./scripted-model.ts";
import { INSTRUCTIONS, shop } from "./shop.ts";

export { Bare, Kept } from "./bare-objects.ts";

/**
 * One Worker with all objects that answer the same question: Byref, and objects that need no other packages.
 */

interface Env extends Cloudflare.Env, MeterEnv {
  readonly BARE: DurableObjectNamespace<Bare>;
  readonly KEPT: DurableObjectNamespace<Kept>;
}

const runtime = createRuntime({
  model: scriptedModel,
  // For the bench of a gigabyte: it is stored in SQLite, because plain workerd has no bucket.
  retention: { quotaBytes: 2 * 2 ** 30 },
  agents: [
    { name: "bench", description: "Says words.", instructions: INSTRUCTIONS, tools: {} },
    shop,
  ],
});

export class Conversation extends runtime.Conversation {
  constructor(state: DurableObjectState, env: Env) {
    super(metered(state, env), env);
  }
}

export default {
  fetch(request: Request, env: Env, context: ExecutionContext): Response | Promise<Response> {
    const answer = answerMeter(request, env);
    if (answer !== undefined) return answer;
    const [, kind = "", name = ""] = new URL(request.url).pathname.split("/");
    const namespace = { bare: env.BARE, kept: env.KEPT }[kind];
    if (namespace === undefined) return runtime.worker.fetch(request, env, context);
    return namespace.get(namespace.idFromName(name)).fetch(request);
  },
};
