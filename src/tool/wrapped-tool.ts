import type { ModelMessage, ToolSet } from "ai";
import type { LookupWork } from "../reference/lookup.ts";
import type { Syntax } from "../reference/reference.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import type { Json } from "../value/json.ts";
import type { Labels } from "../store/labels.ts";
import type { Observer } from "./observer.ts";
import type { ApprovalRequest, Failed, TrustOptions } from "./policy.ts";
import type { Prepare } from "./prepared-save.ts";
import type { SaveTarget } from "./save-target.ts";
import type { ToolOutput } from "./tool-output.ts";

/** What running a tool again after a crash would do. */
export type Effects = "none" | "idempotent" | "once";

/** Names the variable that a result is saved as; its input is the resolved one. */
export type Naming = (tool: string, input: Json, output: Json) => string;

/** How tools are called by reference. */
export interface WrapOptions extends TrustOptions {
  readonly store: VariableStore;
  /** How references are written. Default: dollar only. */
  readonly syntaxes?: readonly (SyntaxName | Syntax)[];
  /** What an unknown name in a tool input is. Default: text that stays, and is noted. */
  readonly unknown?: "keep" | "error";
  /** Default: the tool's name and its most telling argument, e.g. `get_weather_nyc`. */
  readonly naming?: Naming;
  /** The model may say where a result is saved (true), or the caller does, by tool. Default: neither. */
  readonly outputPath?: boolean | Readonly<Record<string, string | boolean>>;
  /** Time limit of one call in milliseconds. */
  readonly toolMs?: number;
  /** Whoever keeps the variables that the calls use from being evicted; see `VariableStore.holds`. */
  readonly owner?: string;
  /** Tools that promise not to change their input: they get the shared, frozen value without a copy. */
  readonly readonlyTools?: readonly string[];
}

/** Any tool that a set may hold. */
export type AnyTool = ToolSet[string];

/**
 * A tool as the model is shown it, and the way to run it by reference, in three steps, so that whoever runs
 * it can write down each: prepared, run, saved. None of them throws for what the model or the tool did.
 */
export interface WrappedTool {
  readonly name: string;
  /** The same tool with a schema that takes references; it has no `execute`. */
  readonly shown: AnyTool;
  /** Resolves the references and asks the policy; nothing has run, and nothing has changed. */
  prepare(input: Json, options: CallOptions): Promise<Prepared>;
}

export interface CallOptions {
  readonly toolCallId: string;
  readonly messages: readonly ModelMessage[];
  readonly signal: AbortSignal;
  /** The same in each attempt at this call, and for no other call; absent where nothing is tried again. */
  readonly idempotencyKey?: string;
  /** Where the result goes, in place of what the input or the agent says. */
  readonly saveTo?: SaveTarget;
  /** The run that the call belongs to; without: names are the conversation's. */
  readonly scope?: RunScope;
  /**
   * Set for a call that code makes: the input is values already, in which nothing is a reference, and
   * these are the labels of what they are made of.
   */
  readonly madeOf?: Labels;
  /** Decides of the checked input, in place of the tool's `needsApproval`, whether a person has to approve it. */
  readonly needsApproval?: (checked: unknown) => Promise<boolean>;
  /** Passed to the tool's functions beside what every call has, such as the AI SDK's context. */
  readonly extras?: object;
  /** Set for a step of a plan's run. */
  readonly isPlanned?: true;
  /** Its share of the work that the calls of a step may do. Default: all of it. */
  readonly work?: LookupWork;
  /** Told when the call runs, and of what goes on inside of it. */
  readonly observer?: Observer | undefined;
}

/** A run of a plan, which has variables of its own beside the conversation's. */
export interface RunScope {
  /** Its id; what it has of its own ends with it, and is called `<name>_<id>`, as far as that fits. */
  readonly run: string;
  /** What else it calls its own by name, beside what every run has. Default: nothing. */
  readonly names?: readonly string[];
  /** Results that are saved without a name are its own, too. Default: they are the conversation's. */
  readonly ownsResults?: boolean;
  /** The variable that a name stands for in it. */
  nameOf(name: string): string;
}

export type Prepared = Ready | Failed;

/** A call that may run, if nobody has to be asked. */
export interface Ready {
  readonly kind: "ready";
  /** With the values in place of their references. */
  readonly input: Json;
  /** Characters that the model wrote as references, and that they stood for. */
  readonly references: ReferenceCount;
  /** Set if a person has to approve it first: why, and what would run, as far as it may be shown. */
  readonly approval?: ApprovalRequest;
  /** A digest of the resolved input: what is approved is what runs. For nobody to see. */
  readonly pin: string;
  run(): Promise<ToolRun>;
}

/** What came of a call: data, because the model is told of either. */
export type ToolRun = Done | Failed;

interface Done {
  readonly kind: "done";
  /**
   * Makes the result ready to be saved; the commit saves it as a variable, and throws `conflict` where it has
   * to be prepared again. Both throw what the store throws. A result that is over a limit is not kept: then
   * there is no `info`, and the output says so.
   */
  readonly prepare: Prepare<Saved>;
}

export interface Saved {
  readonly info?: VariableInfo;
  /**
   * Of the places that were chosen for it, those that were written, as they were called; empty where the
   * call gave nothing to write.
   */
  readonly places?: readonly string[];
  /** What the model, the history and the client see. */
  readonly output: ToolOutput | Json;
}

export interface ReferenceCount {
  readonly authoredChars: number;
  readonly resolvedChars: number;
}
