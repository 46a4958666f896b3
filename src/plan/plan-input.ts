import { type Schema, Validator } from "@cfworker/json-schema";
import { ByrefError, messageOf } from "../errors.ts";
import { isObject, type Json } from "../value/json.ts";
import type { Finding, Plan } from "./plan.ts";

/** What is wrong with the schema of a plan's input. Regular expressions are refused: one can take for ever. */
export function inputFindings({ input }: Plan): readonly Finding[] {
  if (input === undefined) return [];
  const wrong = (message: string): Finding => ({ code: "bad_plan", at: "input", message });
  if (hasPattern(input)) {
    return [wrong("pattern is not supported here; use enum, format, minLength or maxLength.")];
  }
  try {
    new Validator(schemaOf(input), "7", false).validate(null);
    return [];
  } catch (error) {
    return [wrong(`This is no JSON Schema: ${messageOf(error)}`)];
  }
}

/** Throws `invalid_plan_input` unless the input is as the plan's schema has it. */
export function requireInput({ input: schema }: Plan, input: Json): void {
  if (schema === undefined) return;
  const { valid, errors } = new Validator(schemaOf(schema), "7", false).validate(input);
  if (valid) return;
  const issues = errors.map(({ instanceLocation, error }) => ({
    at: `input${instanceLocation.slice(1).replaceAll("/", ".")}`,
    message: error,
  }));
  const said = issues.map(({ at, message }) => `${at}: ${message}`).join(" ");
  throw new ByrefError("invalid_plan_input", said, { issues });
}

/** Both are JSON Schema of draft 7; the two libraries type it apart. */
function schemaOf(input: NonNullable<Plan["input"]>): Schema {
  return input as unknown as Schema;
}

/** Anywhere: what is a property's name in it only looks like one. */
function hasPattern(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasPattern);
  if (!isObject(schema)) return false;
  return Object.entries(schema).some(([key, value]) => {
    if (key === "patternProperties") return true;
    if (key === "properties" && isObject(value)) return Object.values(value).some(hasPattern);
    return (key === "pattern" && typeof value === "string") || hasPattern(value);
  });
}
