import type { ToolSet } from "ai";
import * as limits from "../../../../src/limits.ts";
import {
  type AskModel,
  type Plan,
  type PlanCall,
  type PlanFormatName,
  type toolFiles,
  runtimeTools,
  toolInputs,
} from "../../../../src/internal-tool.ts";
import { characters, type VariableStore, json, nearest } from "../../../../src/internal.ts";
import type { Effects } from "../../../../src/runtime.ts";
import * as z from "zod";
import { messageOf } from "../../../../src/errors.ts";
import { createExpander } from "../../../../src/references.ts";

/** The resources of a format's own tools in one run. */
export interface RunResources {
  /** The conversation's variables under their own names, including the run's own. */
  readonly store: VariableStore;
  /** Without it, plans cannot use files. */
  readonly files?: toolFiles.Files | undefined;
  /** The day that `{today}` prints. */
  readonly today: string;
  readonly ask: AskModel;
}

/** The UTC day of a time in milliseconds since 1970, as `{today}` prints it. */
export function dayAt(timeMs: number): string {
  const [day = ""] = new Date(timeMs).toISOString().split("T");
  return day;
}

/**
 * A text format for plans. Parses a text into the one compiled form, and provides tools that only its plans
 * call.
 */
export interface PlanFormat {
  readonly format: PlanFormatName;
  /** The content types of its texts. */
  readonly mediaTypes: readonly string[];
  read(text: string): ReadPlan;
  /** Adapts the plan to the existing tools. Default: unchanged. */
  fit?(plan: Plan, tools: ToolSet): Promise<Plan>;
  /** Tools in addition to the agent's, and in place of those with the same name. */
  tools?(resources: RunResources): readonly runtimeTools.RuntimeTool[];
  /** Further findings that keep a plan from running. `toolNames`: the agent's and the runtime's. */
  findings?(
    plan: Plan,
    context: { readonly toolNames: Iterable<string>; readonly hasFiles: boolean },
  ): readonly Finding[];
  /** Effects of calling the format's own tool again. Default: the tool's effects. */
  effectsOf?(call: PlanCall, effectsOf: (tool: string) => Effects): Effects;
  /** The conversation's variables that its calls read, in addition to those that they reference. */
  reads?(plan: Plan): readonly string[];
}

/** The parameter that a tag's body becomes if its tool declares none for it: such a call is refused. */
export const BODY = "_body";

/** A fault that keeps a plan from running. All faults are reported at once. */
export interface Finding {
  readonly code: FindingCode;
  /** The id of the call. Absent for a fault of the whole plan. */
  readonly call?: string;
  /** The location in the call: a parameter's path, `_outputPath` or `_tool`. */
  readonly at?: string;
  readonly message: string;
  /** The line in an unreadable text, from 1. */
  readonly line?: number;
  readonly column?: number;
}

export type FindingCode =
  | "bad_plan"
  | "bad_xml"
  | "bad_directive"
  | "no_bucket"
  | "unknown_tool"
  | "duplicate_id"
  | "invalid_parameters"
  | "bad_reference"
  | "no_producer"
  | "duplicate_producer"
  | "bad_output_path"
  | "cycle"
  /** Notes on a plan that was made from a conversation. They do not keep it from running. */
  | "became_input"
  | "kept_variable"
  | "too_many_calls";

export type ReadPlan =
  | { readonly plan: Plan; readonly findings: readonly [] }
  | { readonly plan?: undefined; readonly findings: readonly Finding[] };

/** The first `maxShownItems` findings of a plan, and the number of further ones. */
export class Findings {
  readonly #findings: Finding[] = [];
  #more = 0;

  constructor(findings: readonly Finding[] = []) {
    for (const one of findings) this.add(one);
  }

  get isEmpty(): boolean {
    return this.#findings.length === 0;
  }

  add({ at, message, ...about }: Finding): void {
    if (this.#findings.length === limits.maxShownItems) {
      this.#more++;
      return;
    }
    const place = at === undefined ? {} : { at: characters.clip(at, limits.maxShapeChars) };
    // There is at most one cycle, and it is shown in full.
    const text = about.code === "cycle" ? message : characters.clip(message, limits.maxReasonChars);
    this.#findings.push({ ...about, ...place, message: text });
  }

  /** Returns the findings. If some were left out, the last one gives their number. */
  list(): readonly Finding[] {
    if (this.#more === 0) return this.#findings;
    return [
      ...this.#findings,
      { code: "bad_plan", message: `There are ${this.#more} more findings.` },
    ];
  }
}

export function tooManyCalls(actual: number): Finding {
  const message = `A plan has at most ${limits.maxPlanItems} calls, this one ${actual}: split it into several plans.`;
  return { code: "too_many_calls", message };
}

/** True for all texts with a URL or an address, and for some others. */
export const MAY_HAVE_URL = /[a-z][0-9+.-]*:|www\.|@|\/\//i;

/** Writes a text as an answer is shown: values in place of its references, records as tables. */
export const writeAnswer = runtimeTools.runtimeTool({
  name: "write_answer",
  description: "Write a text with values in place of its references, as an answer is shown.",
  inputSchema: z.object({ text: z.string() }),
  async execute({ text }, { lookup, labels }) {
    // As in all that a model wrote, a URL in it must not become a link where the value is printed.
    if (MAY_HAVE_URL.test(text)) labels.compose();
    const expander = createExpander(lookup, { syntaxes: ["dagger"] });
    const value = (await expander.push(text)) + (await expander.end());
    return { output: value, value };
  },
});

/** A part of URLs. */
const name = z
  .string()
  .min(1)
  .max(128)
  .refine((text) => !/\p{Surrogate}/u.test(text), "must be Unicode");

/** A call with its parameters beside `_tool`. */
export const jsonCall = z
  .object({
    _tool: name,
    _outputPath: z.string().optional(),
    _id: name.optional(),
    _after: z.union([z.string(), z.array(z.string())]).optional(),
  })
  .catchall(toolInputs.anyJson);

export const jsonPlan = z.strictObject({
  name: z.string().max(200).optional(),
  input: toolInputs.anyJsonObject.optional(),
  calls: z.array(jsonCall).min(1, "must hold a call"),
});

export const jsonPlans: PlanFormat = {
  format: "json",
  mediaTypes: ["application/json"],
  tools: () => [writeAnswer],
  read(text) {
    try {
      return readJsonPlan(json.parsedJson(text));
    } catch (error) {
      return { findings: [{ code: "bad_plan", message: `This is not JSON: ${messageOf(error)}` }] };
    }
  },
};

/** Reads a JSON plan. Its references use the dagger: `†state.user`. */
export function readJsonPlan(given: unknown): ReadPlan {
  const count = json.isObject(given) && Array.isArray(given.calls) ? given.calls.length : 0;
  // If there are too many calls, the calls themselves are not checked.
  if (count > limits.maxPlanItems) return { findings: [tooManyCalls(count)] };
  const read = jsonPlan.safeParse(given);
  if (!read.success) return { findings: read.error.issues.map(findingOf) };
  const { name: title, input, calls } = read.data;
  const unknown = calls.flatMap(unknownKeys);
  if (unknown.length > 0) return { findings: unknown };
  const plan: Plan = {
    ...json.compact({ name: title }),
    format: "json",
    // JSON Schema is JSON.
    ...(input === undefined ? {} : { input: input as Plan["input"] & object }),
    calls: calls.map(callOf),
    syntaxes: ["dagger"],
    runNames: [],
    outputs: [],
    order: "data",
  };
  return { plan, findings: [] };
}

function callOf(
  {
    _tool: tool,
    _outputPath: outputPath,
    _id: id,
    _after: gates,
    ...parameters
  }: z.infer<typeof jsonCall>,
  index: number,
): PlanCall {
  return {
    id: id ?? idOf(index),
    tool,
    parameters,
    ...json.compact({ outputPath }),
    ...(gates === undefined ? {} : { gates: [gates].flat() }),
  };
}

function idOf(index: number): string {
  return `call_${index + 1}`;
}

const KEYS = Object.keys(jsonCall.shape);

/** A misspelled key would be passed to the tool, which may ignore it. */
function unknownKeys(call: z.infer<typeof jsonCall>, index: number): readonly Finding[] {
  return Object.keys(call).flatMap((at): Finding[] => {
    if (!at.startsWith("_") || KEYS.includes(at)) return [];
    const written = at.toLowerCase();
    const longer = KEYS.find((key) => written.length > 1 && key.toLowerCase().startsWith(written));
    const near = longer ?? nearest(at, KEYS)[0] ?? "_after";
    const message = `There is no key ${characters.clip(at, MAX_KEY_CHARS)}; the nearest is ${near}. A call has ${KEYS.join(", ")}.`;
    return [{ code: "bad_plan", call: call._id ?? idOf(index), at, message }];
  });
}

const MAX_KEY_CHARS = 80;

function findingOf({ path, message }: z.core.$ZodIssue): Finding {
  const [where, index, ...rest] = path;
  const isCall = where === "calls" && typeof index === "number";
  return isCall
    ? { code: "bad_plan", call: idOf(index), at: rest.map(String).join("."), message }
    : { code: "bad_plan", at: path.map(String).join("."), message };
}
