import * as z from "zod";
import { codeOf, messageOf } from "../../src/errors.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { codeTool, type CodeToolOptions } from "../../packages/code/src/code-tool.ts";
import type { RuntimeResult } from "../../src/tool/runtime-tool.ts";
import type { Sandbox } from "../../packages/code/src/sandbox.ts";
import type { AnyTool, WrappedTool } from "../../src/tool/wrapped-tool.ts";
import type { Json } from "../../src/value/json.ts";
import type { Policy } from "../../src/tool/policy.ts";
import { saveStaged, wrapTool } from "../../src/tool/tool-call.ts";
import { contextOn } from "./runtime-tool-context.ts";

export interface CodeCall extends Pick<CodeToolOptions, "timeMs"> {
  readonly store?: VariableStore;
  readonly variables?: readonly string[];
  readonly tools?: readonly WrappedTool[];
  readonly signal?: AbortSignal;
  /** The agent's setting. */
  readonly hidesUntrusted?: boolean;
}

/** The outcome of a call of `run_code`, with its result saved. */
export type CodeOutcome =
  | { readonly output: Record<string, Json>; readonly untrusted: boolean }
  | { readonly code: string; readonly message: string; readonly details: unknown };

/** Calls `run_code` once on a store, as a turn does. */
export async function runCode(
  sandbox: Sandbox,
  code: string,
  call: CodeCall = {},
): Promise<CodeOutcome> {
  const { store = new MemoryStore(), variables = [], tools = [], ...more } = call;
  const { signal = new AbortController().signal, hidesUntrusted = false, ...options } = more;
  const named = new Map(tools.map((tool) => [tool.name, tool]));
  const tool = codeTool({ sandbox, tools: () => named, ...options });
  try {
    const result = await tool.execute(tool.inputSchema.parse({ code, variables }), {
      ...contextOn(store, signal),
      hidesUntrusted,
      resolve: async (value) => ({ value, unresolved: [] }),
    });
    return { output: await shownBy(result, store), untrusted: result.untrusted === true };
  } catch (error) {
    const details: unknown = Reflect.get(Object(error), "details");
    return { code: codeOf(error), message: messageOf(error), details };
  }
}

async function shownBy(
  { output }: RuntimeResult,
  store: VariableStore,
): Promise<Record<string, Json>> {
  const shown = typeof output === "function" ? await saveStaged(store, output) : output;
  return shown as Record<string, Json>;
}

/** Returns the value that the code returned, as the model sees it. Throws if the call failed. */
export function returnedBy(outcome: CodeOutcome): unknown {
  if (!("output" in outcome)) throw new Error(`${outcome.code}: ${outcome.message}`);
  return Reflect.get(Object(outcome.output.returned), "value");
}

/** Returns the failure of the call. Throws if it succeeded. */
export function failureOf(outcome: CodeOutcome) {
  if ("output" in outcome) throw new Error(`It succeeded: ${JSON.stringify(outcome.output)}`);
  return outcome;
}

/** Wraps a tool that takes any input, and records its inputs and the ids of its calls. */
export async function recordingTool(
  store: VariableStore,
  name: string,
  act: (input: Json) => Json | Promise<Json>,
  policy: Policy = () => "allow",
) {
  const inputs: Json[] = [];
  const ids: string[] = [];
  const execute = (input: Json, { toolCallId }: { readonly toolCallId: string }) => {
    inputs.push(input);
    ids.push(toolCallId);
    return act(input);
  };
  const made = { inputSchema: z.any(), execute } as unknown as AnyTool;
  return { ...(await wrapTool(name, made, { store, policy })), inputs, ids };
}
