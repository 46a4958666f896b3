import { generateText, isStepCount, type ToolSet } from "ai";
import { MemoryStore, wrapTools } from "../../packages/adapters/src/agent.ts";
import type { Json } from "../../src/value/json.ts";
import { scriptedModel } from "../../packages/testing/src/testing.ts";

/** Calls a tool with an input as a model would, in a store with these variables. */
export async function callOnce(
  act: ToolSet[string],
  input: unknown,
  { variables = {}, context, signal }: CallOptions = {},
) {
  const store = new MemoryStore();
  for (const [name, value] of Object.entries(variables)) await store.save({ name, value });
  const model = scriptedModel([[{ tool: "act", input }], "Done."]);
  const result = await generateText({
    model,
    tools: wrapTools({ act }, { store }),
    toolsContext: { act: context } as never,
    stopWhen: isStepCount(2),
    prompt: "Go.",
    ...(signal === undefined ? {} : { abortSignal: signal }),
  });
  const [step] = result.steps;
  const error = step?.content.find((part) => part.type === "tool-error")?.error;
  return {
    output: step?.toolResults[0]?.output as unknown,
    error: error === undefined ? undefined : String(error),
    asked: step?.content.some(({ type }) => type === "tool-approval-request"),
    shown: model.calls[1]?.prompt.findLast(({ role }) => role === "tool")?.content[0],
    store,
  };
}

interface CallOptions {
  readonly variables?: Readonly<Record<string, Json>>;
  readonly context?: unknown;
  readonly signal?: AbortSignal;
}
