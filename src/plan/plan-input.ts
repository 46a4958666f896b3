import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Json } from "../value/json.ts";
import { byteLength } from "../value/utf8.ts";
import { issuesIn } from "./input-schema.ts";
import type { Finding, Plan } from "./plan.ts";
import { schemaFaults } from "./schema-faults.ts";

/** What is wrong with the schema of a plan's input. */
export function inputFindings({ input }: Plan): readonly Finding[] {
  if (input === undefined) return [];
  return schemaFaults(schemaOf(input)).map(({ at, message }) => ({
    code: "bad_plan",
    at,
    message: `${at} ${message}`,
  }));
}

/**
 * Throws `body_too_large` for more than `maxPlanBytes`, `invalid_plan_input` unless the input is as the plan's
 * schema has it, `limit_exceeded` if it takes too long to tell.
 */
export function requireInput({ input: schema }: Plan, input: Json): void {
  requireSmall(input);
  if (schema === undefined) return;
  const issues = issuesIn(schemaOf(schema), input);
  if (issues.length === 0) return;
  const said = issues.slice(0, MAX_SAID_ISSUES).map(({ at, message }) => `${at} ${message}`);
  throw new ByrefError("invalid_plan_input", said.join(" "), { issues });
}

const MAX_SAID_ISSUES = 3;

function requireSmall(input: Json): void {
  const bytes = byteLength(JSON.stringify(input));
  if (bytes <= limits.maxPlanBytes) return;
  const message = `An input has at most ${limits.maxPlanBytes} bytes, this one ${bytes}: keep long data in variables, and give their names.`;
  throw new ByrefError("body_too_large", message);
}

function schemaOf(input: NonNullable<Plan["input"]>): Json {
  // JSON Schema is JSON; a plan's was read from it.
  return input as unknown as Json;
}
