import * as limits from "../../../../src/limits.ts";
import type { RunRecord } from "../plan/plan-record.ts";
import { charsOf, json } from "../../../../src/internal.ts";
import { type PlanOutput, saveTargets, toolOutputs } from "../../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import { formatPath, type Json, type Path } from "../../../../src/references.ts";

/** A variable of a run that belongs to its result. */
export interface ResultPart {
  readonly output: PlanOutput;
  /** The run's own variable. */
  readonly info: VariableInfo;
  /** Undefined for a value that is too large or secret. A handle replaces it. */
  readonly shown: Json | undefined;
}

interface StreamOptions {
  readonly record: RunRecord;
  /** The conversation's variable of the result, if it has one. */
  readonly name: string | undefined;
}

/**
 * The streamed part of a run's result: handles replace long texts and lists. A handle names the variable that
 * stores the call's result, or else the place in the conversation's variable. Undefined if a handle replaces the
 * whole part.
 */
export function streamedPart(part: ResultPart, { record, name }: StreamOptions): Json | undefined {
  const { info, shown, output } = part;
  if (shown === undefined || info.visibility !== "model") return undefined;
  const kept = keptPlaces(record, output.name);
  const streamed = (value: Json, path: Path): Json => {
    if (toolOutputs.isShort(value)) return value;
    const own = kept.get(formatPath(path));
    if (own !== undefined) return own;
    if (!json.isJsonObject(value))
      return handleOf(toolOutputs.partInfo(info, value), { name, path, value });
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, at]) => [key, streamed(at, [...path, { key }])]));
  };
  // Its own handle shows it as a whole.
  if (!toolOutputs.isShort(shown) && !json.isJsonObject(shown)) return undefined;
  const whole = streamed(shown, []);
  const most = limits.maxPieceChars;
  return charsOf(whole, most) > most ? undefined : whole;
}

/** The handle of a whole part. */
export function handleOfPart({ info, shown }: ResultPart, name: string | undefined): Json {
  return handleOf(info, { name, path: [], value: shown });
}

interface Handled {
  readonly name: string | undefined;
  readonly path: Path;
  readonly value: Json | undefined;
}

function handleOf(info: VariableInfo, { name, path, value }: Handled): Json {
  const shown = toolOutputs.shownResult(info, value);
  const { $var: _, ...described } = json.isObject(shown) && json.isJsonObject(shown) ? shown : {};
  const place = name === undefined || path.length === 0 ? undefined : formatPath(path);
  return json.compact({ $var: name, path: place, ...described });
}

/** The handles of kept results, by their paths in the variable. */
function keptPlaces({ calls }: RunRecord, variable: string): ReadonlyMap<string, Json> {
  const kept = new Map<string, Json>();
  for (const { kept: name, output, places = [] } of Object.values(calls)) {
    if (name === undefined || output === undefined) continue;
    for (const source of places) {
      // A template's outputs may be appended to; the variable's own handle is shown.
      if (source.startsWith("variable:") || source.startsWith("file:")) continue;
      const [place] = saveTargets.saveTargetIn(source).places;
      if (place?.name === variable) kept.set(formatPath(place.path), output);
    }
  }
  return kept;
}
