import { codeOf, messageOf } from "../../src/errors.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Write } from "../../src/store/variable-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { codeTool, type CodeToolOptions } from "../../packages/code/src/code-tool.ts";
import type { RuntimeResult } from "../../src/tool/runtime-tool.ts";
import type { Sandbox } from "../../packages/code/src/sandbox.ts";
import type { CallOptions, WrappedTool } from "../../src/tool/wrapped-tool.ts";
import type { Json } from "../../src/value/json.ts";
import type { ApprovalRequest } from "../../src/tool/policy.ts";
import { saveStaged } from "../../src/tool/tool-call.ts";
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

interface FakeToolOptions extends Pick<Write, "visibility" | "trusted"> {
  readonly name: string;
  readonly approval?: ApprovalRequest;
}

/** Returns a tool that is prepared, run and saved like wrapped tools, and records its inputs. */
export function fakeTool(
  store: VariableStore,
  { name, approval, ...write }: FakeToolOptions,
  act: (input: Json) => Json | Promise<Json>,
): WrappedTool & { readonly inputs: readonly Json[]; readonly calls: readonly CallOptions[] } {
  const inputs: Json[] = [];
  const calls: CallOptions[] = [];
  return {
    name,
    inputs,
    calls,
    shown: { inputSchema: { "~standard": {} } } as unknown as WrappedTool["shown"],
    flow: () => ({ reads: [], writes: [] }),
    prepare: async (input, call) => ({
      kind: "ready",
      input,
      references: { authoredChars: 0, resolvedChars: 0, values: [] },
      variables: [],
      visibility: "model",
      pin: "",
      ...(approval === undefined ? {} : { approval }),
      run: async () => {
        inputs.push(input);
        calls.push(call);
        try {
          const value = await act(input);
          const stage = async () => {
            const automatic = { base: name, numbered: true, inputDigest: JSON.stringify(input) };
            const save = { value, name: automatic, tool: name, ...write };
            const { commit, discard } = await store.prepare(save);
            const commitNamed = () => {
              const info = commit();
              return { info, output: { $var: info.name } };
            };
            return { commit: commitNamed, discard };
          };
          return { kind: "done", changes: [], stage, save: () => saveStaged(store, stage) };
        } catch (error) {
          return { kind: "failed", code: "tool_failed", message: messageOf(error) };
        }
      },
    }),
  };
}
