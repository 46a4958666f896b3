import type { ModelMessage, ToolSet } from "ai";
import type { LookupWork } from "../reference/lookup.ts";
import type { Reference } from "../reference/reference.ts";
import type { ResolveOptions } from "../reference/resolve.ts";
import type { AutomaticName, PreparedWrite } from "../store/variable-store.ts";
import type { VariableStore } from "../store/variables.ts";
import type { VariableInfo, Visibility } from "../store/variable.ts";
import type { Json } from "../value/json.ts";
import type { Labels } from "../store/labels.ts";
import type { Observer } from "./observer.ts";
import type { ApprovalRequest, Failed, TrustOptions } from "./policy.ts";
import type { SaveTarget } from "./save-target.ts";
import type { ToolOutput } from "./tool-output.ts";

/** The effects of running a tool again after a crash. */
export type Effects = "none" | "idempotent" | "once";

/**
 * Chooses the name of the variable for a result, by the tool's resolved input and its output. The input has the
 * type of parsed JSON, so that its fields need no cast: read it as the tool's schema has checked it.
 */
export type Naming = (tool: string, input: ReturnType<typeof JSON.parse>, output: Json) => string;

/** How tools are called by reference. */
export interface WrapOptions
  extends TrustOptions, Pick<ResolveOptions, "syntaxes" | "unknown" | "textFor"> {
  readonly store: VariableStore;
  /** Names the variables in which results are saved. Default: tool and most specific argument: `get_weather_nyc`. */
  readonly naming?: Naming;
  /**
   * True: the model may choose where a result is saved. By tool: true, or a fixed place. Default: results have
   * automatic names.
   */
  readonly outputPath?: boolean | Readonly<Record<string, string | boolean>>;
  /** Results of more characters are shown as a handle. Default: `maxShownResultChars`. */
  readonly inlineChars?: number;
  /** Time limit of one call in milliseconds. */
  readonly toolMs?: number;
  /** Holder that protects the calls' variables from eviction; see `VariableStore.holds`. */
  readonly owner?: string;
  /** Tools that promise not to change their input. They receive the shared, frozen value without a copy. */
  readonly readonlyTools?: readonly string[];
  /** The tools' `context`. With a `contextSchema`, a tool receives what that makes of it. */
  readonly context?: object | undefined;
}

/** Any tool of a tool set. */
export type AnyTool = ToolSet[string];

/**
 * A tool with its definition for the model, and a function that runs it by reference in three steps:
 * prepare, run and save. The caller can record each step. No step throws because of an error of the model or
 * the tool.
 */
export interface WrappedTool {
  readonly name: string;
  /** The same tool with a schema that accepts references, and without `execute`. */
  readonly shown: AnyTool;
  /** Returns which variables the call will read and write, as far as its input shows. */
  flow(input: Json): CallFlow;
  /** Resolves the references and applies the policy. Runs nothing and changes nothing. */
  prepare(input: Json, options: CallOptions): Promise<Prepared>;
}

/** The variables that a call reads and writes, as far as its input shows before it is prepared. */
export interface CallFlow {
  readonly reads: readonly Read[];
  readonly writes: readonly Written[];
}

interface Read extends Reference {
  readonly source: string;
  /** False for one of several alternatives. */
  readonly isNeeded: boolean;
}

/**
 * A place; the base of an automatic name, which the store may number; or how an automatic name begins, if the
 * rest depends on values that the input refers to.
 */
export type Written = Reference | { readonly base: string } | { readonly prefix: string };

/** The flow of a call whose input shows nothing. */
export const NO_FLOW: CallFlow = { reads: [], writes: [] };

export interface CallOptions {
  readonly toolCallId: string;
  readonly messages: readonly ModelMessage[];
  readonly signal: AbortSignal;
  /** Identical for all attempts at this call, and different for other calls. Absent if calls are never retried. */
  readonly idempotencyKey?: string;
  /** The place for the result. Takes precedence over the input's and the agent's. */
  readonly saveTo?: SaveTarget;
  /** The run that the call belongs to. Without one, names are those of the conversation. */
  readonly scope?: RunScope;
  /**
   * Set for a call from code: the input contains values, and nothing in it is parsed as a reference. The
   * labels are those of the values that the input was made from.
   */
  readonly madeOf?: Labels;
  /**
   * Decides by the validated input whether a person has to approve the call. Replaces the tool's
   * `needsApproval`.
   */
  readonly needsApproval?: (checked: unknown) => Promise<boolean>;
  /** Further options for the tool's functions, such as the AI SDK's context. */
  readonly extras?: object;
  /** Set for a step of a plan's run. */
  readonly isPlanned?: true;
  /** Set for a call that makes a variable again: it keeps its description, ttl and pin, and its earlier version. */
  readonly remakes?: true;
  /** The variable for a result that is too long to be shown, or guarded. Set for a step of a plan's run. */
  readonly keepAs?: AutomaticName;
  /** This call's share of the work that the calls of a step may do. Default: all of it. */
  readonly work?: LookupWork;
  /** Is notified when the call runs, and of activities inside of it. */
  readonly observer?: Observer | undefined;
}

/** A run of a plan, which has variables of its own in addition to the conversation's. */
export interface RunScope {
  /** The run's id. Its own variables end with it, and are stored as `<name>_<id>`, shortened if necessary. */
  readonly run: string;
  /** Further names of variables that belong to the run, beside those that every run has. Default: none. */
  readonly names?: readonly string[];
  /** True if results without a chosen name belong to the run. Default: they belong to the conversation. */
  readonly ownsResults?: boolean;
  /** Returns the stored name for a name in the run. */
  nameOf(name: string): string;
  /**
   * True for a place that no call of the run writes: it is read from the conversation, although the run has a
   * variable of this name. Default: never.
   */
  readonly inherits?: (reference: Reference) => boolean;
}

export type Prepared = Ready | Failed;

/** A prepared call. It may run unless it needs approval first. */
export interface Ready {
  readonly kind: "ready";
  /** The input with references resolved. */
  readonly input: Json;
  /** Characters of the references that the model wrote, and of the values they resolved to. */
  readonly references: ReferenceCount;
  /** Names of the variables that the call uses, each once. In a run: names of the run, for some tools. */
  readonly variables: readonly string[];
  /** The visibility of the result. Nothing else that comes out of the call may reveal more. */
  readonly visibility: Visibility;
  /** Set if a person has to approve the call first: the reason, and the input as far as it may be shown. */
  readonly approval?: ApprovalRequest;
  /** A digest of the resolved input, which ties an approval to exactly this input. Must not be shown. */
  readonly pin: string;
  run(): Promise<ToolRun>;
}

/** The outcome of a call, as data, because the model receives either. */
export type ToolRun = Done | Failed;

interface Done {
  readonly kind: "done";
  /**
   * Stages the result: does the asynchronous part of saving it. The commit saves it as a variable, and throws
   * `conflict` if it has to be staged again. Both throw the store's errors. A result that exceeds a limit is not
   * saved: then there is no `info`, and the output contains a notice.
   */
  stage(): Promise<PreparedWrite<Saved>>;
  /** Stages and commits; repeats both after a conflict with another write. */
  save(): Promise<Saved>;
  /** Names of variables that the commit changes, except for one that the store chooses; undefined: any. */
  readonly changes: readonly string[] | undefined;
}

/** Does the asynchronous part of a change. The commit makes it, and throws `conflict` if it has to be staged again. */
export type Stage<Result> = () => Promise<PreparedWrite<Result>>;

export interface Saved {
  readonly info?: VariableInfo;
  /** The chosen places that were written, as they were named. Empty if the call had no value to write. */
  readonly places?: readonly string[];
  /** The output for the model, the history and the client. */
  readonly output: ToolOutput | Json;
  /** The result for people, if the call has `keepAs`: a short value, or a handle. */
  readonly shown?: Json;
  /** The variable that was written under `keepAs`. */
  readonly kept?: string;
}

export interface ReferenceCount {
  readonly authoredChars: number;
  readonly resolvedChars: number;
  /** The resolved values; not copied. */
  readonly values: readonly Json[];
}
