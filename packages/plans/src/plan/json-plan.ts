import * as z from "zod";
import { messageOf } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { tooManyCalls, type Finding, type ReadPlan, type PlanFormat } from "./plan-format.ts";
import { characters, json, nearest } from "../../../../src/internal.ts";
import {
  type Plan,
  type PlanCall,
  toolInputs,
  runtimeTools,
} from "../../../../src/internal-tool.ts";
import { createExpander } from "../../../../src/references.ts";

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
  own: { tools: () => [writeAnswer] },
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
