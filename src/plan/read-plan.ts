import { messageOf } from "../errors.ts";
import { readCapabilities } from "./capability-xml.ts";
import { readJsonPlan } from "./json-plan.ts";
import type { PlanFormat, ReadPlan } from "./plan.ts";
import { planFromTemplate } from "./template-plan.ts";

/** Every front end: a text, and how it is written. */
export function readPlan(format: PlanFormat, text: string): ReadPlan {
  if (format === "capability-xml") return readCapabilities(text);
  if (format === "template") return planFromTemplate(text);
  try {
    return readJsonPlan(JSON.parse(text));
  } catch (error) {
    return { findings: [{ code: "bad_plan", message: `This is not JSON: ${messageOf(error)}` }] };
  }
}
