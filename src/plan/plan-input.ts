import { ByrefError } from "../errors.ts";
import type { Json } from "../value/json.ts";
import { issuesIn, unknownKeywords } from "./input-schema.ts";
import type { Finding, Plan } from "./plan.ts";

/** What is wrong with the schema of a plan's input. */
export function inputFindings({ input }: Plan): readonly Finding[] {
  if (input === undefined) return [];
  return unknownKeywords(schemaOf(input)).map((at) => ({
    code: "bad_plan",
    at,
    message: `${at} is not checked here: leave it out.`,
  }));
}

/** Throws `invalid_plan_input` unless the input is as the plan's schema has it. */
export function requireInput({ input: schema }: Plan, input: Json): void {
  if (schema === undefined) return;
  const issues = issuesIn(schemaOf(schema), input);
  if (issues.length === 0) return;
  const said = issues.map(({ at, message }) => `${at} ${message}`).join(" ");
  throw new ByrefError("invalid_plan_input", said, { issues });
}

function schemaOf(input: NonNullable<Plan["input"]>): Json {
  // JSON Schema is JSON; a plan's was read from it.
  return input as unknown as Json;
}
