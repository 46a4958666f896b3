import { compact, copyJson, deepFreeze, type Json } from "../value/json.ts";
import { ByrefError, codeOf } from "../errors.ts";
import { Labels } from "../store/labels.ts";
import type { Variables } from "../store/variable-store.ts";
import type { ObservedActivity, Observer } from "./observer.ts";
import {
  type Approval,
  approvalRequest,
  decisionFor,
  failedCall,
  unresolvedCall,
} from "./policy.ts";
import { type Prepare, saved } from "./prepared-save.ts";
import { type CallResult, type ResolvedInput, savingOf } from "./save-result.ts";
import {
  requireOpen,
  requireOwnPlaces,
  requireReplaced,
  type SaveTarget,
  type Split,
  splitInput,
} from "./save-target.ts";
import { targetFor } from "./scoped-store.ts";
import { digestOf } from "./tool-input.ts";
import { requireKnown } from "./unknown-parameters.ts";
import type {
  CallOptions,
  Prepared,
  Saved,
  ToolRun,
  WrapOptions,
  WrappedTool,
} from "./wrapped-tool.ts";

/**
 * A tool as the pipeline calls it. It defines the differences between an agent's tools and built-in tools.
 * The pipeline applies the same rules to both.
 */
export interface CallableTool {
  readonly name: string;
  readonly options: WrapOptions;
  /** Place of the result. True: the model may choose; a string: at that place; false: only the caller may choose. */
  readonly target: string | boolean;
  /** The parameters of its schema; undefined if it may have others. */
  readonly parameters?: ReadonlySet<string> | undefined;
  /** Returns the variables that the input names. */
  names(input: Json): CallNames;
  /** The variables for the labels, under the names that the tool adds. */
  variables(call: CallOptions): Variables;
  /** Resolves references and validates the input. */
  input(written: Json, options: InputOptions): Promise<CallInput>;
  /** Runs the tool's own check of whether a person has to approve the call. Default: no. */
  needsApproval?(checked: unknown, call: CallOptions): Promise<boolean>;
  run(prepared: PreparedCall): Promise<CallResult>;
}

/** Variables that an input names, apart from its references and the place of the result. */
export interface CallNames {
  /** Texts that name a variable, or a place in one, that the call reads. */
  readonly read: readonly string[];
  /** Texts that name a variable, or a place in one, that the call writes. */
  readonly written: readonly string[];
  /** The base of the automatic name of the result; absent if it is unknown, or nothing is saved. */
  readonly base?: string;
}

export interface InputOptions {
  readonly call: CallOptions;
  /** Receives the labels of all inputs. */
  readonly labels: Labels;
  /** Counts the characters of the references, and those of their values. */
  readonly references: { authoredChars: number; resolvedChars: number; readonly values: Json[] };
}

export interface CallInput extends ResolvedInput {
  /** The input as returned by the tool's own schema. */
  readonly checked: unknown;
  /** Variables that the input names. The tool may read their values when it runs. */
  readonly names?: readonly string[];
  /** The value that an approval covers. Default: `value`. */
  readonly pinned?: Json;
}

/** A call and everything that is known about it before it runs. */
export interface PreparedCall {
  readonly tool: CallableTool;
  readonly call: CallOptions;
  readonly split: Split;
  readonly input: CallInput;
  /** Labels of the values in the input. */
  readonly labels: Labels;
  /** Labels of the values in the input and of the variables that it names. */
  readonly named: Labels;
  readonly digest: string;
  readonly places: SaveTarget | undefined;
}

/**
 * Returns the function that prepares, runs and saves calls of the tool. The call's observer is notified when
 * the call runs or is refused.
 */
export function preparing(tool: CallableTool): WrappedTool["prepare"] {
  return async (input, call) => {
    const { observer, toolCallId } = call;
    if (observer === undefined) return prepare(tool, input, call);
    let running: ObservedActivity | undefined;
    const begin = () => observer.begin({ kind: "tool", name: tool.name, toolCallId });
    const inside: Observer = { begin: (activity) => (running ?? observer).begin(activity) };
    const prepared = await prepare(tool, input, { ...call, observer: inside });
    if (prepared.kind === "failed") {
      begin().end({ error: prepared.code });
      return prepared;
    }
    return {
      ...prepared,
      run: async () => {
        running = begin();
        const run = await prepared.run();
        running.end({ error: run.kind === "failed" ? run.code : undefined });
        return run;
      },
    };
  };
}

async function prepare(tool: CallableTool, given: Json, call: CallOptions): Promise<Prepared> {
  const { name, options } = tool;
  const variables = tool.variables(call);
  const labels = new Labels(variables, options.taint, call.madeOf);
  try {
    // The model's input is part of the history: the tool must not change it.
    const written = deepFreeze(copyJson(given));
    requireKnown(written, tool.parameters);
    const { split, places } = placed(tool, written, call);
    const references = { authoredChars: 0, resolvedChars: 0, values: [] };
    const input = await tool.input(split.input, { labels, references, call });
    const named = new Labels(variables, options.taint, labels);
    for (const variable of input.names ?? []) named.add(variable);
    const { visibility } = named.ofResult(name, options.policies?.[name]);
    if (visibility === "secret") requireOwnPlaces(places);
    const pin = await digestOf(input.pinned ?? input.value);
    // A digest of a guarded value would allow guessing the value.
    const digest = labels.isGuarded ? await digestOf(split.input) : pin;
    const prepared = { tool, call, split, input, labels, named, digest, places };
    const decision = await approvalFor(prepared);
    if (decision.kind === "failed") return decision;
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
    const about = { name, options, labels };
    const isInput = codeOf(error) === "invalid_tool_input";
    return isInput ? failedCall(error, about) : unresolvedCall(error, about);
  }
}

interface Placed {
  /** The input, apart from its parameters about the result. */
  readonly split: Split;
  readonly places: SaveTarget | undefined;
}

/**
 * Determines where the result is saved: the caller's place comes first, then that of the agent or the model.
 */
function placed(
  { target, options: { store } }: CallableTool,
  written: Json,
  call: CallOptions,
): Placed {
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

/** Decides whether a call may run, is denied, or needs a person's approval first. Fails closed. */
async function approvalFor({ tool, split, input, named, call }: PreparedCall): Promise<Approval> {
  const { name, options } = tool;
  const about = {
    tool: name,
    input: split.input,
    resolved: input.value,
    references: named.consumed,
  };
  const decided = await decisionFor(options, about);
  if (decided.kind === "failed" || decided.approval !== undefined) return decided;
  const needsApproval = (await tool.needsApproval?.(input.checked, call)) === true;
  return needsApproval ? { kind: "allowed", approval: approvalRequest(about) } : decided;
}

async function run(prepared: PreparedCall): Promise<ToolRun> {
  const { tool, input, labels, named } = prepared;
  const { name, options } = tool;
  // A named variable may change while the tool runs: the labels of both versions count.
  const addNamed = () => {
    for (const variable of input.names ?? []) named.add(variable);
  };
  try {
    addNamed();
    const result = await tool.run(prepared);
    addNamed();
    named.include(labels);
    return done(prepared, result);
  } catch (error) {
    return failedCall(error, { name, options, labels });
  }
}

function done(prepared: PreparedCall, result: CallResult): ToolRun {
  const changes = changedBy(prepared, result);
  const prepare = withholding(prepared, savingOf(prepared, result));
  return {
    kind: "done",
    prepare,
    save: () => saved(prepared.tool.options.store, prepare),
    changes,
  };
}

/** Reduces the errors of saving a guarded result to their codes. */
function withholding(
  { tool: { name, options }, named: labels }: PreparedCall,
  prepare: Prepare<Saved>,
): Prepare<Saved> {
  const { visibility } = labels.ofResult(name, options.policies?.[name]);
  if (!labels.isGuarded && visibility === "model") return prepare;
  const withheld = (error: unknown) => {
    const { code, message } = failedCall(error, { name, options, labels });
    return new ByrefError(code, message);
  };
  return async () => {
    const { commit, discard } = await prepare().catch((error: unknown) => {
      throw withheld(error);
    });
    const withholdingCommit = () => {
      try {
        return commit();
      } catch (error) {
        throw withheld(error);
      }
    };
    return { commit: withholdingCommit, discard };
  };
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
