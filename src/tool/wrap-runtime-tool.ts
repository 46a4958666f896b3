import { asSchema, jsonSchema } from "ai";
import { limits } from "../limits.ts";
import { resolveReferences } from "../reference/resolve.ts";
import { isJsonObject, type Json } from "../value/json.ts";
import { decisionFor } from "./approval.ts";
import { Labels } from "./labels.ts";
import type { WrapOptions } from "./prepared-call.ts";
import { failed, runTool } from "./run-tool.ts";
import type { RuntimeResult, RuntimeTool, RuntimeToolContext } from "./runtime-tool.ts";
import { lookupInStore } from "./store-lookup.ts";
import { checkInput, digestOf } from "./tool-input.ts";
import type {
  AnyTool,
  CallOptions,
  Prepared,
  Saved,
  ToolRun,
  WrappedTool,
} from "./wrapped-tool.ts";

/** The runtime's own tools, by name, run in the same steps as an application's. */
export async function wrapRuntimeTools(
  tools: readonly RuntimeTool[],
  options: WrapOptions,
): Promise<ReadonlyMap<string, WrappedTool>> {
  const wrapped = await Promise.all(tools.map((tool) => wrapRuntimeTool(tool, options)));
  return new Map(wrapped.map((tool) => [tool.name, tool]));
}

export async function wrapRuntimeTool(
  tool: RuntimeTool,
  options: WrapOptions,
): Promise<WrappedTool> {
  const { name, description } = tool;
  const { $schema: _, ...schema } = await asSchema(tool.inputSchema).jsonSchema;
  const toModelOutput = async ({ output }: { readonly output: Json }) =>
    (await tool.toModelOutput?.(output, options.store)) ?? { type: "json", value: output };
  // Without a validator: what is wrong with an input the model is told in our words.
  const shown = {
    description,
    inputSchema: jsonSchema(schema),
    ...(tool.toModelOutput === undefined ? {} : { toModelOutput }),
  } as unknown as AnyTool;
  return { name, shown, prepare: (input, call) => prepare({ tool, options }, input, call) };
}

interface OwnTool {
  readonly tool: RuntimeTool;
  readonly options: WrapOptions;
}

async function prepare(
  { tool, options }: OwnTool,
  given: Json,
  call: CallOptions,
): Promise<Prepared> {
  try {
    const input = await checkInput(tool, given, { unresolved: [], readonly: false });
    const decided = await decisionFor(options, {
      tool: tool.name,
      input: given,
      resolved: given,
      references: [],
    });
    if (decided.kind === "failed") return decided;
    return {
      kind: "ready",
      input: given,
      // What it resolves itself counts where it is saved.
      references: { authoredChars: 0, resolvedChars: 0 },
      pin: await digestOf(given),
      ...(decided.approval === undefined ? {} : { approval: decided.approval }),
      run: () => run({ tool, options }, input, call),
    };
  } catch (error) {
    return failed(error);
  }
}

async function run(
  { tool, options }: OwnTool,
  input: unknown,
  call: CallOptions,
): Promise<ToolRun> {
  const labels = new Labels(options.store, options.taint);
  const context = contextOf(options, labels, call);
  try {
    const result = await runTool({
      name: tool.name,
      tool: { execute: () => tool.execute(input, context) } as unknown as AnyTool,
      input,
      toolMs: options.toolMs ?? limits.toolMs,
      call,
      // Its `execute` returned it.
      takeIn: async (returned) => returned as RuntimeResult,
    });
    return { kind: "done", save: () => save(result, options) };
  } catch (error) {
    return labels.isGuarded
      ? failed(
          error,
          `${tool.name} failed; what it said is withheld, because it was given a guarded value.`,
        )
      : failed(error);
  }
}

function contextOf(options: WrapOptions, labels: Labels, call: CallOptions): RuntimeToolContext {
  const { store, syntaxes, owner } = options;
  const lookup = lookupInStore(store, {
    hidesUntrusted: options.untrusted === "hide",
    onUsed: (used) => {
      labels.add(used);
      if (owner !== undefined) store.holds.hold(owner, used);
    },
  });
  const resolve = (value: Json) =>
    resolveReferences(value, lookup, syntaxes === undefined ? {} : { syntaxes });
  return { store, labels, call, hidesUntrusted: options.untrusted === "hide", resolve };
}

async function save({ output, untrusted }: RuntimeResult, { taint }: WrapOptions): Promise<Saved> {
  const shown = typeof output === "function" ? await output() : output;
  if (untrusted !== true) return { output: shown };
  taint?.add();
  return {
    output: isJsonObject(shown) ? { ...shown, untrusted: true } : { shown, untrusted: true },
  };
}
