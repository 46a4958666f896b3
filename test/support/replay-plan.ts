import * as limits from "../../src/limits.ts";
import { isJsonObject, type Json } from "../../src/value/json.ts";
import { formatPath } from "../../src/value/path.ts";
import { entryOf, type Step, toSegment, type Trace, writtenWith } from "./replay.ts";

/** A trace as a plan with one call per step, ordered by references alone. */
export interface PlannedTrace {
  readonly kind: "planned";
  /** In the order of the steps. */
  readonly calls: readonly Readonly<Record<string, Json>>[];
  /** Outputs of the tools. */
  readonly outputs: readonly Json[];
  /** The run's final state; absent if no step saves its output under a name. */
  readonly state: Json | undefined;
}

type Planned = PlannedTrace | { readonly kind: "skipped"; readonly reason: string };

const OWN_PARAMETERS = ["_tool", "_outputPath", "_id"];

/**
 * Writes each step's output to `†state.<label>`. A step with several labels writes one object to a place of
 * its own, and references address its entries.
 */
export function planned({ steps }: Trace): Planned {
  const reason = reasonToSkip(steps);
  if (reason !== undefined) return { kind: "skipped", reason };
  const outputs = steps.map(outputOf);
  const places = steps.map(placeOf);
  const written = places.flatMap((place, index): [string, Json][] =>
    place === undefined ? [] : [[place, outputs[index] ?? null]],
  );
  const calls = steps.map((step, index) => {
    const sources = step.refs.map((reference) => sourceOf(reference, steps.slice(0, index)) ?? "");
    const place = places[index];
    return {
      // All inputs are objects; traces with other inputs are skipped.
      ...(writtenWith(step, sources) as Readonly<Record<string, Json>>),
      _id: `step_${index}`,
      _tool: step.tool,
      ...(place === undefined ? {} : { _outputPath: reference([place]) }),
    };
  });
  const state = written.length === 0 ? undefined : Object.fromEntries(written);
  return { kind: "planned", calls, outputs, state };
}

function reasonToSkip(steps: readonly Step[]): string | undefined {
  if (steps.length < 2) return "fewer than two steps";
  if (steps.length > limits.maxPlanItems) return `more than ${limits.maxPlanItems} steps`;
  const isCall = ({ input }: Step) =>
    isJsonObject(input) && !OWN_PARAMETERS.some((name) => Object.hasOwn(input, name));
  if (!steps.every(isCall)) return "an input that a call cannot have";
  const labels = steps.flatMap((step) => labelsOf(step));
  if (new Set(labels).size < labels.length) return "two steps write one label";
  const isTied = ({ refs }: Step, index: number) =>
    refs.every((one) => sourceOf(one, steps.slice(0, index)) !== undefined);
  if (!steps.every(isTied)) return "a reference to what no step before it writes";
  return undefined;
}

function labelsOf({ label, labels }: Step): readonly string[] {
  return labels ?? (typeof label === "string" ? [label] : []);
}

function placeOf({ label, labels }: Step, index: number): string | undefined {
  if (labels !== undefined) return `of_step_${index}`;
  return label ?? undefined;
}

function outputOf({ output, labels }: Step): Json {
  if (labels === undefined) return output;
  return Object.fromEntries(labels.map((name) => [name, entryOf(output, name)]));
}

function sourceOf({ name, path }: Step["refs"][number], before: readonly Step[]) {
  const index = before.findLastIndex((step) => labelsOf(step).includes(name));
  const step = before[index];
  if (step === undefined) return undefined;
  const place = placeOf(step, index) ?? "";
  return reference(step.labels === undefined ? [place, ...path] : [place, name, ...path]);
}

function reference(path: readonly (string | number)[]): string {
  return `†state${formatPath(path.map(toSegment))}`;
}
