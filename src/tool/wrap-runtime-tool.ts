import { compact, isJsonObject, type Json } from "../value/json.ts";
import { jsonSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7 } from "ai";
import * as limits from "../limits.ts";
import type { Lookup } from "../reference/lookup.ts";
import { resolveReferences } from "../reference/resolve.ts";
import { pickSyntaxes } from "../reference/syntaxes.ts";
import { Labels } from "../store/labels.ts";
import type { Variables } from "../store/variable-store.ts";
import { flowOf, textsIn } from "./flow-of-call.ts";
import { withoutKeywords } from "./json-schema.ts";
import { runTool } from "./run-tool.ts";
import type { RuntimeResult, RuntimeTool, RuntimeToolContext } from "./runtime-tool.ts";
import { withTarget } from "./save-target.ts";
import { lookupFor, scopeFor, ScopedStore } from "./scoped-store.ts";
import { type CallableTool, type CallInput, type PreparedCall, preparing } from "./tool-call.ts";
import { checkInput, jsonSchemaOf } from "./tool-input.ts";
import { declaredIn } from "./unknown-parameters.ts";
import { nameIn } from "./variables/variable-target.ts";
import type { AnyTool, CallOptions, WrapOptions, WrappedTool } from "./wrapped-tool.ts";

/**
 * Wraps the built-in tools, by name. They run in the same steps as an application's tools. If `outputPath`
 * is true, the model may choose where a result is saved.
 */
export async function wrapRuntimeTools(
  tools: readonly RuntimeTool[],
  options: WrapOptions,
): Promise<ReadonlyMap<string, WrappedTool>> {
  const wrapped = await Promise.all(tools.map((tool) => wrapRuntimeTool(tool, options)));
  return new Map(wrapped.map((tool) => [tool.name, tool]));
}

/** Wraps one built-in tool. */
export async function wrapRuntimeTool(
  tool: RuntimeTool,
  options: WrapOptions,
): Promise<WrappedTool> {
  const { name, description, takesOutputPath = false, writes = [] } = tool;
  const schema = runtimeToolSchema(await jsonSchemaOf(tool, name), tool);
  const extended = takesOutputPath ? withTarget(schema, false) : undefined;
  // The stores of calls in plan runs, so that outputs use the names of the run.
  const runStores = new Map<string, Variables>();
  const toModelOutput = async ({ output, toolCallId }: Shown) => {
    const store = runStores.get(toolCallId) ?? new ScopedStore(options.store);
    return (await tool.toModelOutput?.(output, store)) ?? { type: "json", value: output };
  };
  // Has no validator, because the model receives Byref's own messages about an invalid input. The SDK's type
  // of a tool depends on the type of its input, which this schema does not have.
  const shown = {
    description,
    inputSchema: jsonSchema(extended ?? schema),
    ...(tool.toModelOutput === undefined ? {} : { toModelOutput }),
  } as unknown as AnyTool;
  const callable: CallableTool = {
    name,
    options,
    target: extended !== undefined,
    parameters: declaredIn(extended ?? schema),
    names: (input) => ({
      read: [
        ...textsIn(
          input,
          NAMING.filter((parameter) => !writes.includes(parameter)),
        ),
        ...readBy(tool, input, options),
      ],
      written: textsIn(input, writes),
    }),
    variables({ scope, toolCallId }) {
      const store = new ScopedStore(options.store, scope);
      if (scope !== undefined) runStores.set(toolCallId, store);
      return store;
    },
    input: (written, { call }) => inputOf(tool, written, { options, call }),
    run: (prepared) => run(tool, prepared),
  };
  const flow: WrappedTool["flow"] = (input, call) => flowOf(callable, input, call);
  return { name, shown, flow, prepare: preparing(callable) };
}

/** Returns the schema that the model is shown, without a place for the result. */
export function runtimeToolSchema(
  own: JSONSchema7,
  { unlisted = [] }: Pick<RuntimeTool, "unlisted">,
): JSONSchema7 {
  const { $schema: _, properties = {}, ...schema } = own;
  const listed = Object.entries(properties).filter(([name]) => !unlisted.includes(name));
  const shown = { ...schema, properties: Object.fromEntries(listed) };
  return withoutKeywords(shown, (keyword) => BOUNDS.has(keyword));
}

/**
 * Keywords of constraints that a tool checks itself. They are omitted, because a schema is sent with each call, and
 * the error of a refused input names the bounds.
 */
const BOUNDS: ReadonlySet<string> = new Set(
  "additionalProperties default definitions exclusiveMinimum maxItems maxLength maximum minItems minLength minimum".split(
    " ",
  ),
);

function readBy(tool: RuntimeTool, input: Json, { syntaxes }: WrapOptions): readonly string[] {
  return isJsonObject(input) ? (tool.reads?.(input, pickSyntaxes(syntaxes)) ?? []) : [];
}

/** Parameters of built-in tools that name variables. */
const NAMING = ["name", "key", "variables"];

interface Shown {
  readonly output: Json;
  readonly toolCallId: string;
}

interface Calling {
  readonly options: WrapOptions;
  readonly call: CallOptions;
}

/** Returns the input as written: the tool itself resolves references. */
async function inputOf(tool: RuntimeTool, written: Json, calling: Calling): Promise<CallInput> {
  const store = new ScopedStore(calling.options.store, calling.call.scope);
  const conversation = calling.call.scope?.inherits === undefined ? [] : [calling.options.store];
  const checked = await checkInput(tool, written, { unresolved: [], readonly: false });
  const read = readBy(tool, written, calling.options);
  const names = await namesIn(written, { ...calling.options, store, conversation, read });
  // An approval covers the current versions of the variables that the tool will read.
  const versions = names.map((name) => [
    name,
    ...[store, ...conversation].map((from) => from.info(name)?.updatedAt ?? ""),
  ]);
  return { value: written, unresolved: [], checked, names, pinned: [written, versions] };
}

interface Naming extends Pick<WrapOptions, "syntaxes"> {
  readonly store: Variables;
  /** In a run: the conversation's variables, whose places the run may inherit. */
  readonly conversation: readonly Variables[];
  /** Names that the tool finds in its input. */
  readonly read: readonly string[];
}

/** Returns the variables that a call names, and those that it refers to. */
async function namesIn(
  given: Json,
  { store, conversation, syntaxes, read }: Naming,
): Promise<readonly string[]> {
  const names = new Set<string>();
  const add = (name: string) => {
    if ([store, ...conversation].some((from) => from.glance(name) !== undefined)) names.add(name);
  };
  for (const text of [...textsIn(given, NAMING), ...read]) add(nameIn(text));
  const recordName: Lookup = ({ name }) => {
    add(name);
    return { found: true, value: "" };
  };
  // An input with too many references fails when the tool runs.
  await resolveReferences(given, recordName, syntaxes === undefined ? {} : { syntaxes }).catch(
    () => undefined,
  );
  return [...names];
}

function run(tool: RuntimeTool, prepared: PreparedCall): Promise<RuntimeResult> {
  const { input, call } = prepared;
  const { options } = prepared.tool;
  return runTool({
    name: tool.name,
    // The signal stops a tool that is no longer awaited, and everything that it has started.
    tool: {
      execute: (_: unknown, { abortSignal }: { readonly abortSignal: AbortSignal }) =>
        tool.execute(input.checked, contextOf(prepared, abortSignal)),
    } as unknown as AnyTool,
    input: input.checked,
    toolMs: tool.timeMs ?? options.toolMs ?? limits.toolMs,
    call,
    // `execute` above returned it.
    convert: async (returned) => returned as RuntimeResult,
  });
}

function contextOf(
  { tool: { options }, call: given, labels, places }: PreparedCall,
  signal: AbortSignal,
): RuntimeToolContext {
  const { syntaxes, owner } = options;
  // The caller's `needsApproval` and `extras` are about this call only, not about calls that it makes.
  const { needsApproval: _needsApproval, extras: _extras, ...own } = given;
  const call = { ...own, signal, ...compact({ saveTo: places }) };
  const store = new ScopedStore(options.store, call.scope);
  // The tool's own labels are by the names in the run, of which the conversation's `state` has none.
  const used = new Labels(options.store);
  const lookup = lookupFor(call.scope, options.store, {
    // The tool reads on the model's behalf, so its errors must not list keys of untrusted values.
    hidesUntrusted: true,
    onUsed: (stored) => {
      used.add(stored);
      labels.include(used);
      if (owner !== undefined) options.store.holds.hold(owner, stored);
    },
  });
  const resolve = (value: Json) =>
    resolveReferences(value, lookup, {
      work: call.work,
      ...compact({ syntaxes }),
      onComposed: () => labels.compose(),
    });
  const storeOf: RuntimeToolContext["storeOf"] = (reference) =>
    new ScopedStore(options.store, scopeFor(reference, call.scope));
  const hidesUntrusted = options.untrusted === "hide";
  return { store, labels, call, hidesUntrusted, storeOf, lookup, resolve };
}
