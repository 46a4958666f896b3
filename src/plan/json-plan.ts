import { compact, isObject } from "../value/json.ts";
import * as z from "zod";
import { messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import { anyJson } from "../tool/tool-input.ts";
import { tooManyCalls, type Finding, type Plan, type PlanCall, type ReadPlan } from "./plan.ts";
import type { PlanFormat } from "./plan-format.ts";

const name = z.string().min(1).max(128);

const jsonCall = z
  .object({ _tool: name, _outputPath: z.string().optional(), _id: name.optional() })
  .catchall(anyJson);

/** A JSON plan from a model or a program: calls, with their parameters beside `_tool`. */
export const jsonPlan = z.strictObject({
  name: z.string().max(200).optional(),
  input: z.record(z.string(), anyJson).optional(),
  calls: z.array(jsonCall).min(1, "must hold a call"),
});

/** The plan format of JSON plans. */
export const jsonPlans: PlanFormat = {
  format: "json",
  mediaTypes: ["application/json"],
  read(text) {
    try {
      return readJsonPlan(JSON.parse(text));
    } catch (error) {
      return { findings: [{ code: "bad_plan", message: `This is not JSON: ${messageOf(error)}` }] };
    }
  },
};

/** Reads a JSON plan. Its references use the dagger: `†state.user`. */
export function readJsonPlan(given: unknown): ReadPlan {
  const count = callsIn(given);
  // With too many calls, the calls themselves are not checked.
  if (count > limits.maxPlanCalls) return { findings: [tooManyCalls(count)] };
  const read = jsonPlan.safeParse(given);
  if (!read.success) return { findings: read.error.issues.map(findingOf) };
  const { name: title, input, calls } = read.data;
  const plan: Plan = {
    ...compact({ name: title }),
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

function callsIn(given: unknown): number {
  return isObject(given) && Array.isArray(given.calls) ? given.calls.length : 0;
}

function callOf(
  { _tool: tool, _outputPath: outputPath, _id: id, ...parameters }: z.infer<typeof jsonCall>,
  index: number,
): PlanCall {
  return {
    id: id ?? `call_${index + 1}`,
    tool,
    parameters,
    ...compact({ outputPath }),
  };
}

function findingOf({ path, message }: z.core.$ZodIssue): Finding {
  const [where, index, ...rest] = path;
  const isCall = where === "calls" && typeof index === "number";
  return isCall
    ? { code: "bad_plan", call: `call_${index + 1}`, at: rest.map(String).join("."), message }
    : { code: "bad_plan", at: path.map(String).join("."), message };
}
