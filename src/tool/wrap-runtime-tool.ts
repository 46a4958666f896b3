import { jsonSchema } from "ai";
import * as limits from "../limits.ts";
import type { Lookup } from "../reference/lookup.ts";
import { resolveReferences } from "../reference/resolve.ts";
import type { Variables } from "../store/variable-store.ts";
import type { Awaitable } from "../store/when-ready.ts";
import { isJsonObject, type Json } from "../value/json.ts";
import { Labels } from "../store/labels.ts";
import { checkInput, digestOf, jsonSchemaOf } from "./tool-input.ts";
import { observed } from "./observed-call.ts";
import { runTool } from "./run-tool.ts";
import type { RuntimeResult, RuntimeTool, RuntimeToolContext } from "./runtime-tool.ts";
import { saveShown, writesAt } from "./save-result.ts";
import { chosenPlaces, requireOpen, requireReplaced, type SaveTarget } from "./save-target.ts";
import { nameFor, ScopedStore } from "./scoped-store.ts";
import { lookupInStore } from "./store-lookup.ts";
import { nameIn } from "./variables/variable-target.ts";
import type {
  AnyTool,
  CallOptions,
  Prepared,
  Saved,
  ToolRun,
  WrapOptions,
  WrappedTool,
} from "./wrapped-tool.ts";
import { decisionFor, failed, failedCall, failureFlags } from "./policy.ts";

/** The runtime's own tools, by name, run in the same steps as an application's. */
export async function wrapRuntimeTools(
  tools: readonly RuntimeTool[],
  options: WrapOptions,
): Promise<ReadonlyMap<string, WrappedTool>> {
  const wrapped = await Promise.all(tools.map((tool) => wrapRuntimeTool(tool, options)));
  return new Map(wrapped.map((tool) => [tool.name, tool]));
}

/** One of the runtime's own tools, by reference. */
export async function wrapRuntimeTool(
  tool: RuntimeTool,
  options: WrapOptions,
): Promise<WrappedTool> {
  const { name, description } = tool;
  const { $schema: _, ...schema } = await jsonSchemaOf(tool, name);
  // Of calls in runs: what they show is called as the run calls it.
  const seen = new Map<string, Variables>();
  const toModelOutput = async ({ output, toolCallId }: Shown) => {
    const store = seen.get(toolCallId) ?? new ScopedStore(options.store);
    return (await tool.toModelOutput?.(output, store)) ?? { type: "json", value: output };
  };
  // Without a validator: what is wrong with an input the model is told in our words. The SDK's type of a
  // tool hangs on its input's, which this schema does not tell.
  const shown = {
    description,
    inputSchema: jsonSchema(schema),
    ...(tool.toModelOutput === undefined ? {} : { toModelOutput }),
  } as unknown as AnyTool;
  const prepareCall = (input: Json, call: CallOptions) => {
    const store = new ScopedStore(options.store, call.scope);
    if (call.scope !== undefined) seen.set(call.toolCallId, store);
    return prepare({ tool, options, call, store }, input);
  };
  return { name, shown, prepare: observed(name, prepareCall) };
}

interface Shown {
  readonly output: Json;
  readonly toolCallId: string;
}

/** A call of one of them. */
interface OwnCall {
  readonly tool: RuntimeTool;
  readonly options: WrapOptions;
  readonly call: CallOptions;
  /** As the call sees it. */
  readonly store: Variables;
}

async function prepare(own: OwnCall, given: Json): Promise<Prepared> {
  const { tool, options, call, store } = own;
  const { name } = tool;
  const labels = new Labels(store, options.taint);
  try {
    const input = await checkInput(tool, given, { unresolved: [], readonly: false });
    if (call.saveTo !== undefined) requireOpen(call.saveTo, options.store, call.scope?.run);
    requireReplaced(call.saveTo?.places, call, options.store);
    const used = await namesIn(given, own);
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
    const versions = used.map((variable) => [variable, store.info(variable)?.updatedAt ?? ""]);
    return {
      kind: "ready",
      input: given,
      // What it resolves itself counts where it is saved.
      references: { authoredChars: 0, resolvedChars: 0 },
      pin: await digestOf([given, versions]),
      ...(decided.approval === undefined ? {} : { approval: decided.approval }),
      run: () => run(own, { given, input, labels }),
    };
  } catch (error) {
    return failed(error);
  }
}

/** The variables that a call is about: those that it names, and those that it refers to. */
async function namesIn(
  given: Json,
  { store, options: { syntaxes } }: OwnCall,
): Promise<readonly string[]> {
  const names = new Set<string>();
  const add = (name: string) => {
    if (store.glance(name) !== undefined) names.add(name);
  };
  if (isJsonObject(given)) {
    const { name, key, variables } = given;
    for (const one of [name, key, ...(Array.isArray(variables) ? variables : [])]) {
      if (typeof one === "string") add(nameIn(one));
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

interface Input {
  readonly given: Json;
  /** The same as the tool's schema gives it. */
  readonly input: unknown;
  /** Of the variables that it names. */
  readonly labels: Labels;
}

async function run(own: OwnCall, { given, input, labels: named }: Input): Promise<ToolRun> {
  const { tool, options, call, store } = own;
  const labels = new Labels(store, options.taint);
  const nameAll = () => {
    for (const { name } of named.consumed) named.add(name);
  };
  try {
    nameAll();
    const result = await runTool({
      name: tool.name,
      // One that is not waited for any more is told so, and with it all that it has begun.
      tool: {
        execute: (_: unknown, { abortSignal: signal }: { readonly abortSignal: AbortSignal }) =>
          tool.execute(input, contextOf({ ...own, call: { ...call, signal } }, labels)),
      } as unknown as AnyTool,
      input,
      toolMs: tool.timeMs ?? options.toolMs ?? limits.toolMs,
      call,
      // Its `execute` returned it.
      takeIn: async (returned) => returned as RuntimeResult,
    });
    // What it has read may have come while it ran.
    nameAll();
    named.include(labels);
    return {
      kind: "done",
      save: result.save ?? (() => save(own, result, { given, labels: named })),
    };
  } catch (error) {
    return failedCall(error, { name: tool.name, options, labels });
  }
}

function contextOf({ options, call, store }: OwnCall, labels: Labels): RuntimeToolContext {
  const { syntaxes, owner } = options;
  const lookup = lookupInStore(store, {
    // It reads on the model's behalf: an error of its that listed keys would show them.
    hidesUntrusted: true,
    onUsed: (used) => {
      labels.add(used);
      const held = nameFor(used, options.store, call.scope);
      if (owner !== undefined && held !== undefined) options.store.holds.hold(owner, held);
    },
  });
  const resolve = (value: Json) =>
    resolveReferences(value, lookup, {
      work: call.work,
      ...(syntaxes === undefined ? {} : { syntaxes }),
      onComposed: () => labels.compose(),
    }).finally(() => labels.completeFrom(value));
  return { store, labels, call, hidesUntrusted: options.untrusted === "hide", resolve };
}

type MadeOf = Pick<Input, "given" | "labels">;

async function save(own: OwnCall, result: RuntimeResult, madeOf: MadeOf): Promise<Saved> {
  const { output, untrusted, isNothing = false } = result;
  const given = typeof output === "function" ? await output() : output;
  const { saveTo } = own.call;
  if (saveTo === undefined) return shownOf(given, own, untrusted);
  if (isNothing) return { ...shownOf(given, own, untrusted), places: [] };
  const { value = given } = result;
  return saveAt(saveTo, { ...own, value, untrusted, isFailure: result.isFailure }, madeOf);
}

function shownOf(output: Json, { options }: OwnCall, untrusted = false): Saved {
  if (!untrusted) return { output };
  options.taint?.add();
  return {
    output: isJsonObject(output) ? { ...output, untrusted } : { shown: output, untrusted },
  };
}

interface Given extends OwnCall {
  readonly value: Json;
  readonly untrusted: boolean | undefined;
  readonly isFailure: boolean | undefined;
}

function saveAt(
  target: SaveTarget,
  { tool: { name }, options, call, value, untrusted = false, isFailure = false }: Given,
  { given: input, labels }: MadeOf,
): Awaitable<Saved> {
  const places = chosenPlaces(target);
  const inherited = labels.ofResult(name, options.policies?.[name]);
  const write = {
    value,
    tool: name,
    toolCallId: call.toolCallId,
    input,
    ...inherited,
    trusted: inherited.trusted && !untrusted,
    ...(isFailure ? failureFlags(inherited.flags) : {}),
  };
  const saving = { writes: writesAt(places, write), places, unresolved: [], call };
  return saveShown(saving, options);
}
