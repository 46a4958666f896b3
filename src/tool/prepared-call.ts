import type { Unresolved } from "../reference/expand.ts";
import type { Json } from "../value/json.ts";
import type { Labels } from "../store/labels.ts";
import type { SaveTarget, Split } from "./save-target.ts";
import type { AnyTool, CallOptions, WrapOptions } from "./wrapped-tool.ts";

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
