import type { RuntimeOptions } from "../../../src/edge/create-runtime.ts";
import type { TestRuntime, TestSettings } from "./testing/start-runtime.ts";

export { callsOf, type SentCall, type SentMessage } from "./testing/calls-of.ts";
export {
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  scriptedModel,
  type Step,
  type StepItem,
} from "./testing/scripted-model.ts";
export type { TestRuntime, TestSettings } from "./testing/start-runtime.ts";
export { finish, type Part, reasoning, text, toolCall } from "./testing/stream-parts.ts";

/**
 * Starts an application in a test file of `@cloudflare/vitest-pool-workers`, with real Durable Objects: those
 * of the Worker under test, whose `wrangler.toml` binds `CONVERSATIONS` to a class of `createRuntime`. The
 * application is the one that is passed. It has its own tenants, so tests do not see each other's
 * conversations.
 */
export async function startRuntime(
  options: RuntimeOptions,
  settings: TestSettings = {},
): Promise<TestRuntime> {
  // Loaded here, because plain Node has no Durable Objects; the other exports run anywhere.
  const { openRuntime } = await import("./testing/start-runtime.ts");
  return openRuntime(options, settings);
}
