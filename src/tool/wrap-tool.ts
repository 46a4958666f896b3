import { jsonSchema, type ToolSet } from "ai";
import { ByrefError, codeOf } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Found } from "../reference/lookup.ts";
import { resolveReferences } from "../reference/resolve.ts";
import { deepFreeze, type Json } from "../value/json.ts";
import { Labels } from "../store/labels.ts";
import type { NamedTool, PreparedCall, Resolved } from "./prepared-call.ts";
import { checkInput, digestOf, jsonSchemaOf } from "./tool-input.ts";
import { observed } from "./observed-call.ts";
import { placedResultOf, runTool } from "./run-tool.ts";
import { saveResult } from "./save-result.ts";
import {
  chosenPlaces,
  requireOpen,
  requireOwnPlaces,
  requireReplaced,
  splitInput,
  withTarget,
} from "./save-target.ts";
import { lookupFor, nameFor, targetFor } from "./scoped-store.ts";
import { widenSchema } from "./widen-schema.ts";
import type {
  AnyTool,
  CallOptions,
  Prepared,
  ReferenceCount,
  ToolRun,
  WrapOptions,
  WrappedTool,
} from "./wrapped-tool.ts";
import {
  type Approval,
  approvalRequest,
  decisionFor,
  failed,
  type Failed,
  failedCall,
  failureReport,
  hidesFailure,
  unresolvedCall,
} from "./policy.ts";

/** Every tool of a set by its name. Tools that the provider executes are shown as they are. */
export async function wrapTools(
  tools: ToolSet,
  options: WrapOptions,
): Promise<ReadonlyMap<string, WrappedTool>> {
  const wrapped = await Promise.all(
    Object.entries(tools).map(
      async ([name, tool]) => [name, await wrapTool(name, tool, options)] as const,
    ),
  );
  return new Map(wrapped);
}

/** A tool by reference; its calls fail with `unknown_tool` if it is the provider's, or has no `execute`. */
export async function wrapTool(
  name: string,
  tool: AnyTool,
  options: WrapOptions,
): Promise<WrappedTool> {
  if (tool.type === "provider") return { name, shown: tool, prepare: async () => notOurs(name) };
  const schema = await jsonSchemaOf(tool, name);
  const { execute: _execute, toModelOutput: _toModelOutput, ...rest } = tool;
  const widened = widenSchema(schema);
  const targets = targetsOf(name, options.outputPath);
  const extended = targets === true ? withTarget(widened, tool.strict === true) : undefined;
  // Without a validator: the resolved input is checked, not the references. It is the tool, but for that.
  const shown = { ...rest, inputSchema: jsonSchema(extended ?? widened) } as AnyTool;
  // A tool that has no room for the parameter is one whose model says nothing.
  const target = targets === true ? extended !== undefined : targets;
  const named: NamedTool = { name, tool, options, target };
  return { name, shown, prepare: observed(name, (input, call) => prepare(named, input, call)) };
}

/** True: the model says where; a text: there; false: nobody does. */
function targetsOf(name: string, outputPath: WrapOptions["outputPath"] = false): string | boolean {
  return typeof outputPath === "boolean" ? outputPath : (outputPath[name] ?? false);
}

async function prepare(named: NamedTool, given: Json, call: CallOptions): Promise<Prepared> {
  const { name, tool, options, target } = named;
  const labels = new Labels(options.store, options.taint, call.madeOf);
  const about = { name, options, labels };
  try {
    if (tool.execute === undefined) throw notExecutable(name);
    // What the model wrote is history: the tool must not change it.
    const written = deepFreeze(structuredClone(given));
    const isSaid = target === true && call.saveTo === undefined;
    const split = isSaid ? splitInput(written) : { input: written };
    const wanted = typeof target === "string" ? target : split.target;
    if (call.saveTo !== undefined) requireOpen(call.saveTo, options.store, call.scope?.run);
    const said = wanted === undefined ? undefined : targetFor(wanted, options.store, call.scope);
    const places = call.saveTo ?? said;
    requireReplaced((said ?? places)?.places, call, options.store);
    const references = new Counter();
    const resolved = await resolvedCall(named, split.input, { labels, references, call });
    const { resolution } = resolved;
    const { visibility } = labels.ofResult(name, options.policies?.[name]);
    if (visibility === "secret") requireOwnPlaces(call.saveTo);
    // A digest of what is guarded would let it be guessed.
    const digest = await digestOf(labels.isGuarded ? split.input : resolution.value);
    const prepared = { ...split, ...resolved, named, call, labels, digest, places };
    const decision = await approvalFor(prepared);
    if (decision.kind === "failed") return decision;
    const { approval } = decision;
    return {
      kind: "ready",
      input: resolution.value,
      references,
      pin: labels.isGuarded ? await digestOf(resolution.value) : digest,
      ...(approval === undefined ? {} : { approval }),
      run: () => run(prepared),
    };
  } catch (error) {
    const isInput = codeOf(error) === "invalid_tool_input";
    return isInput ? failedCall(error, about) : unresolvedCall(error, about);
  }
}

type ResolvedCall = Pick<PreparedCall, "resolution" | "checked" | "failure">;

/** The input with values in it, as the tool takes it; or the failure, which the model must not learn. */
async function resolvedCall(
  named: NamedTool,
  input: Json,
  { labels, references, call }: Resolving,
): Promise<ResolvedCall> {
  const { name, options } = named;
  const written = { value: input, unresolved: [] };
  try {
    const isValue = call.madeOf !== undefined;
    const resolution = isValue
      ? written
      : await resolve(named, input, { labels, references, call });
    return { resolution, checked: await check(named, resolution) };
  } catch (failure) {
    const isOpened = options.policies?.[name]?.declassifies === true;
    if (isOpened || !hidesFailure(labels, call)) throw failure;
    return { resolution: written, checked: undefined, failure };
  } finally {
    if (call.madeOf === undefined) {
      labels.completeFrom(input, (used) => nameFor(used, options.store, call.scope) ?? "");
    }
  }
}

function check(
  { name, tool, options }: NamedTool,
  { value, unresolved }: Resolved,
): Promise<unknown> {
  const isReadonly = options.readonlyTools?.includes(name) ?? false;
  return checkInput(tool, value, { unresolved, readonly: isReadonly });
}

/** Whether a call may run, must not, or has to be approved by a person first. Fails closed. */
async function approvalFor(prepared: PreparedCall): Promise<Approval> {
  const { named, input, resolution, labels } = prepared;
  const { name, options } = named;
  const resolved = resolution.value;
  const call = { tool: name, input, resolved, references: labels.consumed };
  const decided = await decisionFor(options, call);
  if (decided.kind === "failed" || decided.approval !== undefined) return decided;
  return (await needsApproval(prepared))
    ? { kind: "allowed", approval: approvalRequest(call) }
    : decided;
}

/** What the tool itself says, of its resolved input; of an input that it cannot judge, yes. */
async function needsApproval({ named, checked, call }: PreparedCall): Promise<boolean> {
  const { needsApproval: asks } = named.tool;
  if (typeof asks !== "function") return asks === true;
  try {
    const { toolCallId, messages } = call;
    // The SDK types it by the tool's schema.
    const ask = asks as (input: unknown, options: unknown) => boolean | PromiseLike<boolean>;
    return await ask(checked, { toolCallId, messages: [...messages], context: undefined });
  } catch {
    return true;
  }
}
async function run(prepared: PreparedCall): Promise<ToolRun> {
  const { named, call, labels, checked: input, failure, places } = prepared;
  if (failure !== undefined) {
    const chosen = places === undefined ? [] : chosenPlaces(places);
    const report = { value: failureReport(failure), notes: [], places: chosen };
    return { kind: "done", save: () => saveResult(prepared, report) };
  }
  const { name, tool, options } = named;
  try {
    const toolMs = options.toolMs ?? limits.toolMs;
    const { store } = options;
    const isFixed = labels.isGuarded;
    const takeIn = (returned: unknown) =>
      placedResultOf(returned, { target: places, isFixed, store });
    const result = await runTool({ name, tool, input, toolMs, call, takeIn });
    return { kind: "done", save: () => saveResult(prepared, result) };
  } catch (error) {
    return failedCall(error, { name, options, labels });
  }
}

function resolve(
  { name, options }: NamedTool,
  input: Json,
  { labels, references, call: { scope, work } }: Resolving,
): Promise<Resolved> {
  const { store, syntaxes, unknown, owner, policies } = options;
  const lookup = lookupFor(scope, store, {
    bytes: true,
    hidesUntrusted: options.untrusted === "hide",
    secrets: policies?.[name]?.secrets ?? [],
    onUsed: (used) => {
      labels.add(used);
      if (owner !== undefined) store.holds.hold(owner, used);
    },
  });
  return resolveReferences(input, lookup, {
    ...(syntaxes === undefined ? {} : { syntaxes }),
    ...(unknown === undefined ? {} : { unknown }),
    work,
    onResolved: (source, found) => references.add(source, found),
    onComposed: () => labels.compose(),
  });
}

interface Resolving {
  readonly labels: Labels;
  readonly references: Counter;
  readonly call: CallOptions;
}

function notExecutable(name: string): ByrefError {
  const message = `${name} cannot be executed here: it has no execute function.`;
  return new ByrefError("unknown_tool", message);
}

function notOurs(name: string): Failed {
  return failed(notExecutable(name));
}

class Counter implements ReferenceCount {
  authoredChars = 0;
  resolvedChars = 0;

  /** The resolver measures what it reads; a store knows the size of a whole variable. */
  add(source: string, { chars = 0 }: Found): void {
    this.authoredChars += source.length;
    this.resolvedChars += chars;
  }
}
