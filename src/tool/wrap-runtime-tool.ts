import { jsonSchema } from "ai";
import { limits } from "../limits.ts";
import type { Lookup } from "../reference/reference.ts";
import { resolveReferences } from "../reference/resolve.ts";
import { isJsonObject, type Json } from "../value/json.ts";
import { decisionFor } from "./approval.ts";
import { Labels } from "./labels.ts";
import type { WrapOptions } from "./prepared-call.ts";
import { failedCall } from "./failure.ts";
import { jsonSchemaOf } from "./json-schema-of.ts";
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
  const { $schema: _, ...schema } = await jsonSchemaOf(tool);
  const shownOnce = new Set<string>();
  const toModelOutput = async ({ output }: { readonly output: Json }) => {
    // Each step's prompt has all of them once more.
    const written = JSON.stringify(output);
    shownOnce.add(written);
    const isOneOfFew = [...shownOnce].indexOf(written) < limits.maxShownImages;
    const shown = isOneOfFew ? await tool.toModelOutput?.(output, options.store) : undefined;
    return shown ?? { type: "json", value: output };
  };
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
  const { name } = tool;
  const labels = new Labels(options.store, options.taint);
  try {
    const input = await checkInput(tool, given, { unresolved: [], readonly: false });
    const used = await namesIn(given, options);
    for (const variable of used) labels.add(variable);
    const references = labels.consumed;
    const decided = await decisionFor(options, {
      tool: name,
      input: given,
      resolved: given,
      references,
    });
    if (decided.kind === "failed") return decided;
    // What it will read is what it is now.
    const versions = used.map((variable) => [
      variable,
      options.store.info(variable)?.updatedAt ?? "",
    ]);
    return {
      kind: "ready",
      input: given,
      // What it resolves itself counts where it is saved.
      references: { authoredChars: 0, resolvedChars: 0 },
      pin: await digestOf([given, versions]),
      ...(decided.approval === undefined ? {} : { approval: decided.approval }),
      run: () => run({ tool, options }, input, call),
    };
  } catch (error) {
    return failed(error);
  }
}

/** The variables that a call is about: those that it names, and those that it refers to. */
async function namesIn(given: Json, { store, syntaxes }: WrapOptions): Promise<readonly string[]> {
  const names = new Set<string>();
  const add = (name: string) => {
    if (store.glance(name) !== undefined) names.add(name);
  };
  if (isJsonObject(given)) {
    const { name, variables } = given;
    for (const one of [name, ...(Array.isArray(variables) ? variables : [])]) {
      if (typeof one === "string") add(/\w+/u.exec(one)?.[0] ?? "");
    }
  }
  const noted: Lookup = ({ name }) => {
    add(name);
    return { found: true, value: "" };
  };
  // Too much in it is said when it runs.
  await resolveReferences(given, noted, syntaxes === undefined ? {} : { syntaxes }).catch(
    () => undefined,
  );
  return [...names];
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
    return failedCall(error, { name: tool.name, options, labels });
  }
}

function contextOf(options: WrapOptions, labels: Labels, call: CallOptions): RuntimeToolContext {
  const { store, syntaxes, owner } = options;
  const lookup = lookupInStore(store, {
    // It reads on the model's behalf: an error of its that listed keys would show them.
    hidesUntrusted: true,
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
