import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { finish, scriptedModel, type Step, text } from "byref/testing";

const agent: Agent = { name: "test", description: "For tests.", instructions: "", tools: {} };

/** A runtime whose first turn streams a text, waits for `open`, and streams another one. */
export function haltedTurn(more: readonly Step[] = []) {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const step: Step = async function* () {
    yield text("Before.", { id: "1" });
    reached.resolve();
    await opened.promise;
    yield text(" After.", { id: "2" });
    yield finish();
  };
  const model = scriptedModel([step, ...more]);
  const options: RuntimeOptions = { agents: [agent], model };
  return { open: opened.resolve, reached: reached.promise, model, options };
}
