/**
 * A call of a tool, from the input that the model wrote to the row that its result is saved in. The steps, in order:
 * the input's parameters about the result (`placed`), names and references (`agentInput`, `ownInput`), labels, the pin,
 * approval (`approvalFor`), run (`execute`), save (`stageOf`, `stageAll`). An agent's tools and the runtime's own
 * have the same steps; `Callable.own` tells them apart where they differ.
 */
import { safeValidateTypes } from "@ai-sdk/provider-utils";
import type { ToolSet } from "ai";
import { ByrefError, codeOf, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { needsIn } from "../reference/references-in.ts";
import type { Reference } from "../reference/reference.ts";
import { problemFrom } from "../reference/reference-problem.ts";
import { type Resolution, resolveReferences } from "../reference/resolve.ts";
import { pickSyntaxes } from "../reference/syntaxes.ts";
import type { Content } from "../store/bytes/content.ts";
import { Labels } from "../store/labels.ts";
import { nameForCall, toIdentifier } from "../store/names.ts";
import { retryConflicts } from "../store/retry-conflicts.ts";
import { USER } from "../store/user-variables.ts";
import type { AutomaticName, PreparedWrite, Variables, Write } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import { Deadline } from "../value/deadline.ts";
import { compact, copyJson, deepFreeze, isJsonObject, isObject, type Json } from "../value/json.ts";
import { strictValue } from "../value/strict-json.ts";
import type { ObservedActivity, Observer } from "./observer.ts";
import {
  type Approval,
  approvalRequest,
  decisionFor,
  failed,
  failedCall,
  unresolvedCall,
} from "./policy.ts";
import type { RuntimeResult, RuntimeTool, RuntimeToolContext } from "./runtime-tool.ts";
import {
  chosenPlaces,
  isGuarded,
  type Place,
  requireOpen,
  requireOwnPlaces,
  requireReplaced,
  type SaveTarget,
  saveTargetIn,
  type Split,
  splitInput,
  withTarget,
} from "./save-target.ts";
import {
  locateReference,
  lookupFor,
  ownedBy,
  scopeFor,
  ScopedStore,
  targetFor,
  writtenName,
} from "./scoped-store.ts";
import {
  declaredIn,
  describedTool,
  requireKnown,
  runtimeToolSchema,
  type ShownSchema,
  shownSchema,
  withOwnNames,
} from "./shown-schema.ts";
import {
  checkInput,
  digestOf,
  jsonSchemaOf,
  KeptInput,
  misfitHint,
  withNumbers,
  withoutQuotes,
} from "./tool-input.ts";
import {
  isShort,
  jsonOf,
  keptWrite,
  notKept,
  type OutputOptions,
  partInfo,
  shownResult,
  toolOutput,
} from "./tool-output.ts";
import { type PlacedResult, placedResultOf } from "./tool-result.ts";
import { nameIn, referenceTo, targetIn } from "./variables/variable-target.ts";
import {
  type AnyTool,
  type CallFlow,
  type CallOptions,
  NO_FLOW,
  type Prepared,
  type Saved,
  type Stage,
  type ToolRun,
  type WrapOptions,
  type WrappedTool,
} from "./wrapped-tool.ts";

/** A tool as the steps of a call see it. */
interface Callable extends Omit<ShownSchema, "schema"> {
  readonly name: string;
  readonly options: WrapOptions;
  readonly tool: AnyTool | RuntimeTool;
  /** Set for one of the runtime's own tools. */
  readonly own?: RuntimeTool;
}

/** Wraps an agent's tools, or the runtime's own, by name. Tools that the provider executes are left unchanged. */
export async function wrapTools(
  tools: ToolSet | readonly RuntimeTool[],
  options: WrapOptions,
): Promise<ReadonlyMap<string, WrappedTool>> {
  const wrapped = isList(tools)
    ? tools.map((tool) => wrapRuntimeTool(tool, options))
    : Object.entries(tools).map(([name, tool]) => wrapTool(name, tool, options));
  return new Map((await Promise.all(wrapped)).map((tool) => [tool.name, tool]));
}

function isList(tools: ToolSet | readonly RuntimeTool[]): tools is readonly RuntimeTool[] {
  return Array.isArray(tools);
}

/**
 * Wraps a tool. Calls fail with `unknown_tool` if the provider executes it or it has no `execute`. One that the provider
 * defines and the application executes (`bash` of Anthropic) is shown as it is: its schema is at the provider.
 */
export async function wrapTool(
  name: string,
  tool: AnyTool,
  options: WrapOptions,
): Promise<WrappedTool> {
  const isProviders = tool.type === "provider";
  if (isProviders && (tool.isProviderExecuted || tool.execute === undefined)) {
    const prepare = async () => failed(notExecutable(name));
    return { name, shown: tool, flow: () => NO_FLOW, prepare };
  }
  const { execute: _execute, toModelOutput: _toModelOutput, ...rest } = tool;
  const shown = shownSchema({ name, tool, options }, await jsonSchemaOf(tool, name));
  const { schema, ...about } = shown;
  // Has no validator, because the resolved input is validated, not the references. Otherwise the same tool.
  const described = isProviders ? {} : describedTool(rest.description, schema);
  const definition = { ...rest, ...described } as AnyTool;
  return wrapped({ name, options, tool, ...about }, definition);
}

/** Wraps one of the runtime's own tools. */
export async function wrapRuntimeTool(
  tool: RuntimeTool,
  options: WrapOptions,
): Promise<WrappedTool> {
  const { name, description, takesOutputPath = false } = tool;
  const ownSchema = runtimeToolSchema(await jsonSchemaOf(tool, name), tool);
  const extended = takesOutputPath ? withTarget(ownSchema, false) : undefined;
  const schema = extended ?? ownSchema;
  // The stores of calls in plan runs, so that outputs use the names of the run.
  const runStores = new Map<string, Variables>();
  const toModelOutput = async (shown: { readonly output: Json; readonly toolCallId: string }) => {
    const store = runStores.get(shown.toolCallId) ?? new ScopedStore(options.store);
    return (
      (await tool.toModelOutput?.(shown.output, store)) ?? { type: "json", value: shown.output }
    );
  };
  // Has no validator, because the model receives Byref's own messages about an invalid input. The SDK's type
  // of a tool depends on the type of its input, which this schema does not have.
  const definition = {
    ...describedTool(description, schema),
    ...(tool.toModelOutput === undefined ? {} : { toModelOutput }),
  } as unknown as AnyTool;
  const about = { target: extended !== undefined, parameters: declaredIn(schema) };
  const callable = { name, options, tool, own: tool, ...about };
  const { prepare, ...rest } = wrapped(callable, definition);
  return {
    ...rest,
    prepare: (input, call) => {
      const { scope, toolCallId } = call;
      if (scope !== undefined) runStores.set(toolCallId, new ScopedStore(options.store, scope));
      return prepare(input, call);
    },
  };
}

function wrapped(tool: Callable, shown: AnyTool): WrappedTool {
  return {
    name: tool.name,
    shown,
    flow: (input) => flowOf(tool, withOwnNames(input, tool.names)),
    prepare: (input, call) => prepare(tool, withOwnNames(input, tool.names), call),
  };
}

// What a call reads and writes, before it is prepared.

/** Returns the flow of a call. Never throws: an input that cannot be used fails when it is prepared. */
function flowOf(tool: Callable, written: Json): CallFlow {
  const { name, own, options, target } = tool;
  const { store, syntaxes, naming } = options;
  const { input, target: chosen } =
    target === true
      ? orElse<Split>(() => splitInput(written), { input: written })
      : { input: written };
  const wanted = typeof target === "string" ? target : chosen;
  const targetsIn = (texts: readonly string[]) =>
    texts.flatMap((text) => orElse(() => targetIn(text), undefined) ?? []);
  const reads = needsIn(input, syntaxes).flatMap(({ source, operator, references }) =>
    references.map((reference) => {
      return { ...reference, source, isNeeded: operator === "all" || references.length === 1 };
    }),
  );
  const { writes: parameters = [] } = own ?? {};
  const read = own === undefined ? [] : namedIn(own, input, options, parameters);
  const named = targetsIn(read).map((place) => {
    return { ...place, source: `$${place.name}`, isNeeded: true };
  });
  const places: Reference[] = [
    ...(wanted === undefined ? [] : orElse(() => saveTargetIn(wanted).places, [])),
    ...targetsIn(textsIn(input, parameters)),
  ];
  const isUser = store.user !== undefined && isJsonObject(input) && input["scope"] === USER;
  const writes = isUser
    ? places.map((place) => ({ name: USER, path: [{ key: place.name }, ...place.path] }))
    : places;
  const flow = { reads: [...reads, ...named], writes };
  // An application's own naming may depend on the output.
  if (wanted !== undefined || own !== undefined || naming !== undefined) return flow;
  const automatic = reads.length === 0 ? [] : [{ prefix: toIdentifier(name) }];
  const { base } = nameForCall(name, input);
  return { ...flow, writes: [...writes, { base }, ...automatic] };
}

/** Returns `otherwise` for an input that cannot be used. */
function orElse<Result>(read: () => Result, otherwise: Result): Result {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Parameters of the runtime's own tools that name variables. */
const NAMING = ["name", "key", "variables"];

/** Returns the texts with which an input names variables that the tool reads, beside its references. */
function namedIn(
  tool: RuntimeTool,
  input: Json,
  { syntaxes }: WrapOptions,
  except: readonly string[] = [],
): readonly string[] {
  if (!isJsonObject(input)) return [];
  const naming = NAMING.filter((parameter) => !except.includes(parameter));
  return [...textsIn(input, naming), ...(tool.reads?.(input, pickSyntaxes(syntaxes)) ?? [])];
}

/** Returns the texts in parameters that are texts or lists of texts. */
function textsIn(input: Json, parameters: readonly string[]): readonly string[] {
  if (!isJsonObject(input)) return [];
  return parameters
    .flatMap((parameter) => (Object.hasOwn(input, parameter) ? input[parameter] : []))
    .filter((text) => typeof text === "string");
}

// Preparing a call: its input, its labels, its pin, and whether it may run.

/** A call and everything that is known about it before it runs. */
interface PreparedCall {
  readonly tool: Callable;
  readonly call: CallOptions;
  /** The input as the model wrote it, apart from its parameters about the result. */
  readonly split: Split;
  readonly input: CallInput;
  /** Labels of the values in the input. */
  readonly labels: Labels;
  /** Labels of the values in the input and of the variables that it names. */
  readonly named: Labels;
  readonly digest: string;
  readonly places: SaveTarget | undefined;
  readonly kept: KeptInput;
}

interface CallInput extends Resolution {
  /** The input as returned by the tool's own schema. */
  readonly checked: unknown;
  /** Variables that the input names. The tool may read their values when it runs. */
  readonly names?: readonly string[];
  /** The value that an approval covers. Default: `value`. */
  readonly pinned?: Json;
}

/** Prepares a call. Its observer is notified when the call runs or is refused. */
async function prepare(tool: Callable, input: Json, call: CallOptions): Promise<Prepared> {
  const { observer, toolCallId } = call;
  if (observer === undefined) return prepareCall(tool, input, call);
  let running: ObservedActivity | undefined;
  const begin = () => observer.begin({ kind: "tool", name: tool.name, toolCallId });
  const inside: Observer = { begin: (activity) => (running ?? observer).begin(activity) };
  const prepared = await prepareCall(tool, input, { ...call, observer: inside });
  if (prepared.kind === "failed") {
    begin().end({ error: prepared.code });
    return prepared;
  }
  const runObserved = async () => {
    running = begin();
    const run = await prepared.run();
    running.end({ error: run.kind === "failed" ? run.code : undefined });
    return run;
  };
  return { ...prepared, run: runObserved };
}

async function prepareCall(tool: Callable, given: Json, call: CallOptions): Promise<Prepared> {
  const { name, own, options } = tool;
  const { policies, store, taint } = options;
  const variables = own === undefined ? store : new ScopedStore(store, call.scope);
  const labels = new Labels(variables, taint, call.madeOf);
  const kept = new KeptInput(tool, call);
  try {
    // The model's input is part of the history: the tool must not change it.
    const written = deepFreeze(copyJson(given));
    requireKnown(written, tool.parameters);
    const { split, places } = placed(tool, written, call);
    const references = { authoredChars: 0, resolvedChars: 0, values: [] };
    const input =
      own === undefined
        ? await agentInput(tool, split.input, { call, labels, references, kept })
        : await ownInput(own, split.input, { call, options });
    const named = new Labels(variables, taint, labels);
    for (const variable of input.names ?? []) named.add(variable);
    const { visibility } = named.ofResult(name, policies?.[name]);
    if (visibility === "secret") requireOwnPlaces(places);
    const pin = await digestOf(input.pinned ?? input.value);
    // A digest of a guarded value would allow guessing the value.
    const digest = labels.isGuarded ? await digestOf(split.input) : pin;
    const prepared = { tool, call, split, input, labels, named, digest, places, kept };
    const decision = await approvalFor(prepared);
    if (decision.kind === "failed") return kept.addTo(decision);
    const { approval } = decision;
    return {
      kind: "ready",
      input: input.value,
      references,
      variables: named.consumed.map(({ name: variable }) => variable),
      visibility,
      pin,
      ...compact({ approval }),
      run: () => run(prepared),
    };
  } catch (error) {
    const failureOf = codeOf(error) === "invalid_tool_input" ? failedCall : unresolvedCall;
    return kept.addTo(failureOf(error, { name, options, labels }));
  }
}

/**
 * Splits the input from its parameters about the result, and determines where the result is saved: the caller's place
 * comes first, then that of the agent or the model.
 */
function placed(
  { target, options: { store } }: Callable,
  written: Json,
  call: CallOptions,
): Pick<PreparedCall, "split" | "places"> {
  const { saveTo, scope } = call;
  const isModelChoice = target === true && saveTo === undefined;
  const split = isModelChoice ? splitInput(written) : { input: written };
  const wanted = typeof target === "string" ? target : split.target;
  if (saveTo !== undefined) requireOpen(saveTo, store, scope?.run);
  const ownTarget = wanted === undefined ? undefined : targetFor(wanted, store, scope);
  const places = saveTo ?? ownTarget;
  requireReplaced((ownTarget ?? places)?.places, call, store);
  return { split, places };
}

/** `labels` receives those of all inputs. */
interface Resolving extends Pick<PreparedCall, "call" | "kept" | "labels"> {
  /** Counts the characters of the references, and those of their values. */
  readonly references: { authoredChars: number; resolvedChars: number; readonly values: Json[] };
}

/** Resolves and validates the input of an agent's tool. */
async function agentInput(
  { name, tool, options }: Callable,
  quoted: Json,
  { call, labels, references, kept }: Resolving,
): Promise<CallInput> {
  if (tool.execute === undefined) throw notExecutable(name);
  const schema = await jsonSchemaOf(tool, name);
  const written = withoutQuotes(quoted, schema);
  const { store, syntaxes, unknown, owner, policies, textFor } = options;
  const lookup = lookupFor(call.scope, store, {
    bytes: true,
    hidesUntrusted: options.untrusted === "hide",
    secrets: policies?.[name]?.secrets ?? [],
    onUsed: (used) => {
      labels.add(used);
      if (owner !== undefined) store.holds.hold(owner, used);
    },
  });
  const resolved =
    call.madeOf !== undefined
      ? { value: written, unresolved: [] }
      : await resolveReferences(written, lookup, {
          ...compact({ syntaxes, unknown, textFor }),
          work: call.work,
          // The resolver measures what it reads; the store knows the size of a whole variable.
          onResolved: (source, { value, chars = 0 }) => {
            references.authoredChars += source.length;
            references.resolvedChars += chars;
            references.values.push(value);
          },
          onComposed: () => labels.compose(),
        });
  const { value, unresolved } = resolved;
  if (references.values.length === 0) kept.value = value;
  const isReadonly = options.readonlyTools?.includes(name) ?? false;
  const hint = () => misfitHint({ written, value, unresolved }, options);
  const given = withNumbers(value, schema, policies?.[name]?.numbers);
  const checked = await checkInput(tool, given, { unresolved, readonly: isReadonly, hint });
  return { ...resolved, checked };
}

/** Returns the input of one of the runtime's own tools as written: the tool itself resolves references. */
async function ownInput(
  tool: RuntimeTool,
  quoted: Json,
  { call: { scope }, options }: Pick<PreparedCall, "call"> & Pick<Callable, "options">,
): Promise<CallInput> {
  const { store, syntaxes } = options;
  // In a run: also the conversation's variables, whose places the run may inherit.
  const stores = [new ScopedStore(store, scope), ...(scope?.inherits === undefined ? [] : [store])];
  const written = withoutQuotes(quoted, await jsonSchemaOf(tool, tool.name));
  const checked = await checkInput(tool, written, { unresolved: [], readonly: false });
  const found = new Set<string>();
  // An input with too many references fails when the tool runs.
  const references = needsIn(written, syntaxes).flatMap((need) => need.references);
  const named = namedIn(tool, written, options).map((text) =>
    orElse<Reference>(() => targetIn(text), { name: nameIn(text), path: [] }),
  );
  for (const reference of [...named, ...references]) {
    const at = await locateReference(reference, store);
    if ("name" in at && stores.some((from) => from.glance(at.name) !== undefined))
      found.add(at.name);
  }
  const names = [...found];
  // An approval covers the current versions of the variables that the tool will read.
  const versions = names.map((name) => [
    name,
    ...stores.map((from) => from.info(name)?.updatedAt ?? ""),
  ]);
  return { value: written, unresolved: [], checked, names, pinned: [written, versions] };
}

/** Decides whether a call may run, is denied, or needs a person's approval first. Fails closed. */
async function approvalFor(prepared: PreparedCall): Promise<Approval> {
  const { tool, split, input, named } = prepared;
  const { name, options } = tool;
  const about = {
    tool: name,
    input: split.input,
    resolved: input.value,
    references: named.consumed,
  };
  const decided = await decisionFor(options, about);
  if (decided.kind === "failed" || decided.approval !== undefined) return decided;
  const isNeeded = tool.own === undefined && (await needsApproval(prepared));
  return isNeeded ? { kind: "allowed", approval: approvalRequest(about) } : decided;
}

/** Runs the tool's own check on the resolved input. An input that the check fails on needs approval. */
async function needsApproval({ tool: callable, call, input }: PreparedCall): Promise<boolean> {
  if (call.needsApproval !== undefined) return call.needsApproval(input.checked);
  const tool = callable.tool as AnyTool;
  const { needsApproval: ownCheck } = tool;
  if (typeof ownCheck !== "function") return Boolean(ownCheck);
  try {
    // The SDK types it by the tool's schema.
    const check = ownCheck as (input: unknown, options: unknown) => unknown;
    const { toolCallId, messages, extras } = call;
    const context = await contextFor(tool, callable.options.context);
    const options = { toolCallId, messages: [...messages], context, ...extras };
    return Boolean(await check(input.checked, options));
  } catch {
    return true;
  }
}

// Running a call.

async function run(prepared: PreparedCall): Promise<ToolRun> {
  const { tool, input, labels, named } = prepared;
  const { name, options } = tool;
  // A named variable may change while the tool runs: the labels of both versions count.
  const addNamed = () => {
    for (const variable of input.names ?? []) named.add(variable);
  };
  try {
    addNamed();
    const result = await execute(prepared);
    addNamed();
    await prepared.kept.save();
    named.include(labels);
    const stage = stageOf(prepared, result);
    const changes = changedBy(prepared, result);
    return { kind: "done", changes, stage, save: () => saveStaged(options.store, stage) };
  } catch (error) {
    return prepared.kept.addTo(failedCall(error, { name, options, labels }));
  }
}

/** The result of a call: a value to save as a variable, or the result of one of the runtime's own tools. */
type CallResult = ValueResult | RuntimeResult;

interface ValueResult extends PlacedResult {
  /** True if the value comes from an untrusted source, whatever the inputs. */
  readonly untrusted?: boolean | undefined;
}

/**
 * Runs the tool and returns its converted result. Rejects with the tool's error, or with `tool_timeout`.
 * Does not wait for a tool that hangs or whose turn is stopped.
 */
async function execute(prepared: PreparedCall): Promise<CallResult> {
  const { tool, call, input } = prepared;
  const { name, own, options } = tool;
  const toolMs = own?.timeMs ?? options.toolMs ?? limits.toolMs;
  const context =
    own === undefined ? await contextFor(tool.tool as AnyTool, options.context) : undefined;
  if (call.signal.aborted) throw stopped(name);
  const message = `${name} did not finish within ${toolMs} ms. Ask for less.`;
  const error = () => new ByrefError("tool_timeout", message, { toolMs });
  const limit = new Deadline(toolMs, { signal: call.signal, error });
  const { signal } = limit;
  // The signal stops a tool that is no longer awaited, and everything that it has started.
  const work = async () =>
    own === undefined
      ? resultOf(prepared, signal, context)
      : own.execute(input.checked, contextOf(prepared, signal));
  return limit.race(work()).catch((error: unknown) => {
    const isStopped = call.signal.aborted && error === call.signal.reason;
    throw isStopped ? stopped(name) : error;
  });
}

/** Runs an agent's tool; of several results that it yields, the last one counts. */
async function resultOf(
  { tool: { tool, options }, call, input: { checked }, labels, places }: PreparedCall,
  signal: AbortSignal,
  context: unknown,
): Promise<CallResult> {
  // The SDK types a tool's input by its schema, which has just validated it.
  const { execute: run, onInputAvailable } = tool as {
    readonly execute: (input: unknown, options: unknown) => unknown;
    readonly onInputAvailable?: (options: unknown) => unknown;
  };
  const optionsOf = () => executionOptions(call, signal, context);
  await onInputAvailable?.(Object.assign(optionsOf(), { input: checked }));
  const returned = await lastOf(await run(checked, optionsOf()), signal);
  const { store } = options;
  return placedResultOf(returned, { target: places, isFixed: labels.isGuarded, store });
}

/** Returns the last result. An iterator that is no longer awaited is closed when it yields next. */
async function lastOf(result: unknown, signal: AbortSignal): Promise<unknown> {
  if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result))
    return result;
  // A stream of bytes is one result.
  if (result instanceof ReadableStream) return new Response(result);
  let last: unknown;
  for await (const value of result as AsyncIterable<unknown>) {
    if (signal.aborted) break;
    last = value;
  }
  return last;
}

/**
 * Returns the SDK's second argument. A tool that reads the messages receives a copy, because they are the
 * next prompt.
 */
function executionOptions(
  { toolCallId, messages, idempotencyKey, extras }: CallOptions,
  abortSignal: AbortSignal,
  context: unknown,
) {
  return {
    toolCallId,
    abortSignal,
    context,
    ...compact({ idempotencyKey }),
    ...extras,
    get messages() {
      // A copy has the type of its original.
      return copyJson([...messages]);
    },
  };
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
  const locate = async (reference: Reference) => {
    const at = await locateReference(reference, options.store);
    if ("name" in at) return at;
    throw problemFrom(referenceTo(reference), at);
  };
  const about = { store, user: options.store.user, labels, call, hidesUntrusted };
  return { ...about, locate, storeOf, lookup, resolve };
}

/** Returns what the tool's `contextSchema` makes of the context; without one, all of it. */
async function contextFor({ contextSchema }: AnyTool, context: unknown): Promise<unknown> {
  if (context === undefined || contextSchema === undefined) return context;
  const checked = await safeValidateTypes({ value: context, schema: contextSchema });
  if (checked.success) return checked.value;
  // The validator's message quotes the context.
  throw new ByrefError("bad_configuration", "The tool's contextSchema refuses who asks.");
}

const notExecutable = (name: string) =>
  new ByrefError("unknown_tool", `${name} cannot be executed here: it has no execute function.`);
const stopped = (name: string) => new ByrefError("tool_failed", `${name} was stopped.`);

// Saving the result: staged asynchronously, then committed in one transaction.

/**
 * Stages the result of a call that has run. It is saved as a variable, under an automatic name or in the chosen places,
 * all of them or none. The result of one of the runtime's own tools becomes a variable only if the call has a place for
 * it. The errors of saving a guarded result are reduced to their codes.
 */
function stageOf(prepared: PreparedCall, result: CallResult): Stage<Saved> {
  const { tool, call, places, named: labels } = prepared;
  const { name, options } = tool;
  /** The output of a tool whose result is saved as well: the tool's own changes must be made only once. */
  let changed: Promise<Json> | undefined;
  let save: StagedWrites<Saved> | undefined;
  return async () => {
    const { commit, discard } = await stage().catch(report);
    const commitReporting = () => {
      try {
        return commit();
      } catch (error) {
        return report(error);
      }
    };
    return { commit: commitReporting, discard };
  };

  function report(error: unknown): never {
    const { visibility } = labels.ofResult(name, options.policies?.[name]);
    if (!labels.isGuarded && visibility === "model") throw error;
    const { code, message } = failedCall(error, { name, options, labels });
    throw new ByrefError(code, message);
  }

  async function stage(): Promise<PreparedWrite<Saved>> {
    if (!("output" in result)) return stageValue(result);
    const { output, untrusted, isNothing = false } = result;
    if (result.save !== undefined) return result.save();
    const stageOutput: Stage<Json> =
      typeof output === "function" ? output : async () => change(() => output);
    if (places !== undefined && !isNothing) {
      changed ??= saveStaged(options.store, stageOutput);
      const shown = await changed;
      const { value = shown } = result;
      return stageValue({ value, notes: [], places: chosenPlaces(places), untrusted });
    }
    const kept = call.keepAs === undefined ? undefined : await stageKept(result);
    const staged = await stageOutput();
    const commit = () => {
      const keptSaved = kept?.commit();
      const saved = {
        ...shownOf(staged.commit(), options, untrusted),
        ...(places === undefined ? {} : { places: [] }),
      };
      if (keptSaved === undefined) return saved;
      // It was written to a place that is guarded.
      const hides = isObject(saved.output) && "visibility" in saved.output;
      const { shown, kept: keptName } = keptSaved;
      return { ...saved, ...compact({ shown: hides ? undefined : shown, kept: keptName }) };
    };
    return { commit, discard: () => [kept, staged].forEach((one) => one?.discard()) };
  }

  /** Keeps what one of the runtime's own tools has answered to a plan as a variable, if it is long. */
  async function stageKept({ output, value, untrusted }: RuntimeResult) {
    const answer = typeof output === "function" ? undefined : output;
    const whole = labels.isGuarded ? answer : (value ?? answer);
    if (whole === undefined) return undefined;
    return isShort(whole)
      ? change((): Partial<Saved> => ({ shown: whole }))
      : stageValue({ value: whole, notes: [], places: [], untrusted });
  }

  function stageValue(value: ValueResult): Promise<PreparedWrite<Saved>> {
    save ??= savingOf(prepared, value);
    return stageAll(save);
  }
}

function savingOf(
  prepared: PreparedCall,
  { value, notes, places, untrusted = false }: ValueResult,
): StagedWrites<Saved> {
  const { tool, call, split, named, input, kept } = prepared;
  const { name, options } = tool;
  const policy = options.policies?.[name];
  const description = [split.description ?? "", ...notes].filter((text) => text !== "").join(" ");
  const own = named.ofResult(name, policy);
  const write: Write = {
    value,
    tool: name,
    toolCallId: call.toolCallId,
    // The input of a call from code contains values, not the model's words.
    ...(isPlain(prepared) ? { input: split.input } : {}),
    ...own,
    trusted: own.trusted && !untrusted,
    ...(description === "" ? {} : { description }),
    ...(places.length === 0 ? { name: automaticName(prepared, value) } : {}),
  };
  const { unresolved } = input;
  const { inlineChars = options.inlineChars } = policy ?? {};
  return saveAt({ write, places, unresolved, call, inlineChars, keptInput: kept.name }, options);
}

/** Names of the variables that the result is saved in; undefined: any. */
function changedBy(
  { input, places }: PreparedCall,
  result: CallResult,
): readonly string[] | undefined {
  if (!("output" in result)) return result.places.map(({ name }) => name);
  const names = typeof result.output === "function" ? (input.names ?? []) : undefined;
  if (result.save !== undefined || names?.length === 0) return undefined;
  return [...(names ?? []), ...(places?.places ?? []).map(({ name }) => name)];
}

function shownOf(given: Json, { taint }: WrapOptions, untrusted = false): Saved {
  const output = strictValue(given);
  if (!untrusted) return { output };
  taint?.add();
  return {
    output: isJsonObject(output) ? { ...output, untrusted } : { shown: output, untrusted },
  };
}

/**
 * True if the input may be shown. Values that code passes to a tool carry no restriction but their labels.
 */
function isPlain({ call, named }: PreparedCall): boolean {
  return call.madeOf === undefined || (!named.isGuarded && !named.hasUntrusted);
}

/** Names are visible to everyone, so a name is never derived from guarded values. */
function automaticName(prepared: PreparedCall, value: Json | Content): AutomaticName {
  const { tool, input, split, named, digest: inputDigest } = prepared;
  const { name, options } = tool;
  const { visibility, trusted: isTrusted } = named.ofResult(name, options.policies?.[name]);
  if (named.isGuarded || !isPlain(prepared)) return { base: name, numbered: true, inputDigest };
  const hides = options.untrusted === "hide";
  if (hides && !named.isTrusted) return { ...nameForCall(name, split.input), inputDigest };
  const isHidden = visibility !== "model" || (hides && !isTrusted);
  const base = isHidden ? undefined : options.naming?.(name, input.value, jsonOf(value) ?? null);
  return base === undefined
    ? { ...nameForCall(name, input.value), inputDigest }
    : { base, numbered: false, inputDigest };
}

/** A value to save, and the facts that its output needs. */
interface Saving extends Pick<OutputOptions, "inlineChars" | "keptInput" | "notes"> {
  readonly write: Write;
  /** The places to write it to. Without any, the write has its own name. */
  readonly places: readonly Place[];
  readonly unresolved: Resolution["unresolved"];
  readonly call: Pick<CallOptions, "scope" | "isPlanned" | "saveTo" | "keepAs" | "remakes">;
}

/**
 * Saves a value in all of its places or none. If it is too large to save, the output contains a notice. The commit
 * throws `variable_sealed` if the place is in a variable that has become guarded since the call was prepared.
 */
export function saveAt(saving: Saving, options: WrapOptions): StagedWrites<Saved> {
  const { write, places, call } = saving;
  const { store, owner, untrusted, taint } = options;
  const hidesUntrusted = untrusted === "hide";
  const keeps = call.remakes === true ? { keepsMetadata: true, keepsVersion: true } : {};
  const placedWrites = places.map(({ name, path, run: owningRun }): Write => {
    return { ...write, ...keeps, name, path, ...compact({ run: owningRun }) };
  });
  const [first = write, ...others] = placedWrites;
  const own = [first, ...others].map((one) => ownedBy(call.scope, one));
  const kept = keptWrite(first, { call, places, value: jsonOf(write.value) }, store);
  const isKept = (one: Write | undefined) => kept !== undefined && one?.name === kept.name;
  const path = places[0]?.path ?? [];
  // For a result that exceeds the quota.
  const refused = (error: unknown): Saved => {
    const output = notKept(first, messageOf(error), hidesUntrusted);
    if ("untrusted" in output) taint?.add();
    const { visibility = "model" } = first;
    return { output, ...(visibility === "model" ? {} : { shown: { visibility } }) };
  };
  return {
    store,
    writes: kept === undefined ? own : [...(places.length === 0 ? [] : own), kept],
    check: () => requireReplaced(places, call, store),
    onSaved: (infos, all) => {
      const [info] = infos;
      if (info === undefined) throw new ByrefError("internal", "A result is saved somewhere.");
      if (owner !== undefined) for (const { name } of infos) store.holds.hold(owner, name);
      const json = jsonOf(all[0]?.value);
      const named = { ...info, name: writtenName(info.name, store, call.scope) ?? info.name };
      const about = path.length > 0 && json !== undefined ? partInfo(named, json) : named;
      const output = toolOutput(about, json, { ...saving, path, hidesUntrusted });
      if ("untrusted" in output) taint?.add();
      const saved = { info, output, places: places.map(({ source }) => source) };
      if (call.keepAs === undefined) return saved;
      const last = isKept(all.at(-1)) ? infos.at(-1) : undefined;
      return {
        ...saved,
        shown: shownResult(last ?? about, json),
        ...compact({ kept: last?.name }),
      };
    },
    onRefused: (error, current) => {
      const isTooLarge = codeOf(error) === "limit_exceeded";
      if (isTooLarge && isKept(current.at(-1))) return { writes: own };
      if (isTooLarge) return { result: () => refused(error) };
      // The reason why a write does not fit tells of the current value.
      throw places.some(({ name }) => isGuarded(name, store))
        ? new ByrefError(codeOf(error), "The result does not fit into the guarded variable.")
        : error;
    },
  };
}

/** Writes that are saved together, or none of them. */
export interface StagedWrites<Result> {
  readonly store: Variables;
  /** `stageAll` replaces writes that the store refuses. */
  writes: readonly Write[];
  /**
   * Throws if the save is not allowed. Called again at the commit, because other writes may have happened
   * since.
   */
  readonly check: () => void;
  /** Called with the saved variables, as part of the commit. */
  readonly onSaved: (infos: readonly VariableInfo[], writes: readonly Write[]) => Result;
  /** Returns other writes for refused ones, or a result without a saved value; or throws the error to report. */
  readonly onRefused: (
    error: unknown,
    writes: readonly Write[],
  ) => { readonly writes: readonly Write[] } | { readonly result: () => Result };
}

/** Stages writes. Call it again if the commit throws `conflict`. */
export async function stageAll<Result>(save: StagedWrites<Result>): Promise<PreparedWrite<Result>> {
  const { store, writes, check, onSaved, onRefused } = save;
  check();
  const replacementFor = (error: unknown): (() => Result) | undefined => {
    const refusal = onRefused(error, writes);
    if ("result" in refusal) return refusal.result;
    save.writes = refusal.writes;
  };
  let prepared: PreparedWrite<readonly VariableInfo[]>;
  try {
    prepared = await store.prepareAll(writes);
  } catch (error) {
    const result = replacementFor(error);
    return result === undefined ? stageAll(save) : change(result);
  }
  const commit = () => {
    check();
    let infos: readonly VariableInfo[];
    try {
      infos = prepared.commit();
    } catch (error) {
      if (codeOf(error) === "conflict") throw error;
      const result = replacementFor(error);
      if (result === undefined) throw changeConflict();
      return result();
    }
    return onSaved(infos, writes);
  };
  return { commit, discard: prepared.discard };
}

/** The error of a commit that has to be staged again. */
export function changeConflict(): ByrefError {
  return new ByrefError("conflict", "The target has changed; prepare it again.");
}

/** A change that needs no asynchronous preparation. */
export function change<Result>(commit: () => Result): PreparedWrite<Result> {
  return { commit, discard: () => undefined };
}

/** Stages and commits a change; repeats both after a conflict with another write. */
export function saveStaged<Result>(store: Variables, stage: Stage<Result>): Promise<Result> {
  return retryConflicts(store, async () => (await stage()).commit());
}
