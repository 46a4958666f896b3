import * as limits from "../limits.ts";
import { strictestVisibility } from "../store/labels.ts";
import type { Variables, Write } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import { countOf, type Json, plainJson, typeOfJson } from "../value/json.ts";
import { previewOf } from "../value/preview.ts";
import { shapeOf } from "../value/shape.ts";
import { isShortJson } from "../value/strict-json.ts";
import type { Place } from "./save-target.ts";
import { outputJson, toolOutput } from "./tool-output.ts";
import type { CallOptions } from "./wrapped-tool.ts";

/** True if the value is shown in full. */
export function isShort(value: Json): boolean {
  return isShortJson(value, limits.maxShownResultChars);
}

/**
 * The result of a plan's call for people: the value if it is short, else its handle. Of a guarded value only
 * the variable's name and its visibility.
 */
export function shownResult(info: VariableInfo, value: Json | undefined): Json {
  const { name, visibility } = info;
  if (visibility !== "model") return { $var: name, visibility };
  if (value !== undefined && isShort(value)) return plainJson(value);
  // An output is an object.
  const output = outputJson(toolOutput(info, value)) as { readonly [key: string]: Json };
  const { type = null, count = null, bytes = null, shape = null, preview = null } = output;
  return { $var: name, type, count, bytes, shape, preview };
}

/** Returns the short form of an output that is not a variable. */
export function shortOutput(output: Json): Json {
  if (isShort(output)) return plainJson(output);
  const [type, count] = [typeOfJson(output), countOf(output)];
  return { type, count, shape: shapeOf(output), preview: previewOf(output) };
}

interface Keeping {
  readonly call: Pick<CallOptions, "keepAs">;
  readonly places: readonly Pick<Place, "name">[];
  /** Undefined for a value that is not in memory. */
  readonly value: Json | undefined;
}

/**
 * The write that keeps a plan's result which is not shown in full: one that is too long, and each guarded one,
 * whatever its size. It is pinned, as guarded as the places that the result is written to.
 */
export function keptWrite(
  { run: _run, path: _path, mode: _mode, ...write }: Write,
  { call: { keepAs }, places, value }: Keeping,
  store: Variables,
): Write | undefined {
  if (keepAs === undefined) return undefined;
  const guards = places.map(({ name }) => store.glance(name)?.visibility ?? "model");
  const visibility = strictestVisibility([write.visibility ?? "model", ...guards]);
  const isShown = visibility === "model" && value !== undefined && isShort(value);
  return isShown ? undefined : { ...write, name: keepAs, visibility, pinned: true };
}
