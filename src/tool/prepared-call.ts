import type { Unresolved } from "../reference/expand.ts";
import type { Syntax } from "../reference/reference.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { Json } from "../value/json.ts";
import type { Labels } from "./labels.ts";
import type { Policy } from "./policy.ts";
import type { SaveTarget, Split } from "./save-target.ts";
import type { Taint } from "./taint.ts";
import type { ToolPolicy } from "./tool-policy.ts";
import type { AnyTool, CallOptions } from "./wrapped-tool.ts";

/** Names the variable that a result is saved as; its input is the resolved one. */
export type Naming = (tool: string, input: Json, output: Json) => string;

/** How tools are called by reference. */
export interface WrapOptions {
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
  /** By tool: which secrets it is given, and what its results are. */
  readonly policies?: Readonly<Record<string, ToolPolicy>>;
  /** Decides of each call before it runs. Default: all may run. */
  readonly policy?: Policy;
  /** What is not trusted: shown and marked as such (default), or hidden until the model asks to read it. */
  readonly untrusted?: "show" | "hide";
  /** What the model has been shown so far; told when it is shown more. */
  readonly taint?: Taint;
  /** Whoever keeps the variables that the calls use from being evicted; see `VariableStore.holds`. */
  readonly owner?: string;
  /** Tools that promise not to change their input: they get the shared, frozen value without a copy. */
  readonly readonlyTools?: readonly string[];
}

export interface NamedTool {
  readonly name: string;
  readonly tool: AnyTool;
  readonly options: WrapOptions;
  readonly target: string | boolean;
}

/** A call with all that is known of it before it runs. */
export interface PreparedCall extends Split {
  readonly named: NamedTool;
  readonly call: CallOptions;
  readonly resolution: Resolved;
  /** The resolved input as the tool's own schema gives it. */
  readonly checked: unknown;
  readonly labels: Labels;
  readonly digest: string;
  readonly places: SaveTarget | undefined;
  /** Why the tool does not run. For people only: the model must not learn it. */
  readonly failure?: unknown;
}

export interface Resolved {
  readonly value: Json;
  readonly unresolved: readonly Unresolved[];
}
