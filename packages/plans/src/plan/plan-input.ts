import * as limits from "../../../../src/limits.ts";
import { ByrefError } from "../../../../src/errors.ts";
import { issuesIn, type Issue, KEYWORDS } from "./input-schema.ts";
import type { Finding } from "./findings.ts";
import type { Plan } from "../../../../src/turn/plan.ts";
import { subschemasIn } from "../../../../src/tool/json-schema.ts";
import { type Json, isJsonArray, isJsonObject } from "../../../../src/value/json.ts";
import { byteLength } from "../../../../src/value/utf8.ts";

/** Returns the errors in the schema of a plan's input. */
export function inputFindings({ input }: Plan): readonly Finding[] {
  if (input === undefined) return [];
  return schemaFaults(schemaOf(input)).map(({ at, message }) => ({
    code: "bad_plan",
    at,
    message: `${at} ${message}`,
  }));
}

/**
 * Checks the input of a run. Throws `body_too_large` for more than `maxRecordBytes`, `invalid_plan` if
 * the input does not fit the plan's schema, and `limit_exceeded` if the check takes too long.
 */
export function requireInput({ input: schema }: Plan, input: Json): void {
  requireSmall(input);
  if (schema === undefined) return;
  const issues = issuesIn(schemaOf(schema), input);
  if (issues.length === 0) return;
  const texts = issues.slice(0, MAX_SHOWN_ISSUES).map(({ at, message }) => `${at} ${message}`);
  throw new ByrefError("invalid_plan", texts.join(" "), { issues });
}

const MAX_SHOWN_ISSUES = 3;

function requireSmall(input: Json): void {
  const bytes = byteLength(JSON.stringify(input));
  if (bytes <= limits.maxRecordBytes) return;
  const message = `An input has at most ${limits.maxRecordBytes} bytes, this one ${bytes}: keep long data in variables, and give their names.`;
  throw new ByrefError("body_too_large", message);
}

function schemaOf(input: NonNullable<Plan["input"]>): Json {
  // JSON Schema is JSON, and a plan's schema was parsed from it.
  return input as unknown as Json;
}

/** Keywords that do not constrain a value. */
const ANNOTATIONS = new Set(
  "$schema $id title description default examples format deprecated readOnly writeOnly $comment".split(
    " ",
  ),
);

const TYPES = new Set<Json>("null boolean integer number string array object".split(" "));

type IsArgument = (argument: Json) => boolean;

const isSchema: IsArgument = (argument) => typeof argument === "boolean" || isJsonObject(argument);
const areSchemas: IsArgument = (argument) => isJsonArray(argument) && argument.length > 0;

/** Valid arguments by keyword. Other keywords have a count or a number. */
const ARGUMENTS: ReadonlyMap<string, IsArgument> = new Map<string, IsArgument>([
  ["type", (argument) => [argument].flat().every((type) => TYPES.has(type))],
  ["enum", isJsonArray],
  ["const", () => true],
  ["properties", isJsonObject],
  ["required", (names) => isJsonArray(names) && names.every((name) => typeof name === "string")],
  ["additionalProperties", isSchema],
  ["items", isSchema],
  ["anyOf", areSchemas],
  ["allOf", areSchemas],
]);
const isNumber: IsArgument = (argument) => typeof argument === "number";
const isCount: IsArgument = (argument) => Number.isInteger(argument) && Number(argument) >= 0;

/**
 * Finds the parts of a JSON Schema that are unsupported or malformed, by keyword path. References, conditions
 * and regular expressions are unsupported. A regular expression can run without end.
 */
export function schemaFaults(schema: Json, at = "input", depth = 0): readonly Issue[] {
  if (!isSchema(schema) || depth > limits.maxDepth) return [{ at, message: WRONG }];
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([keyword, argument]) => {
    const place = `${at}.${keyword}`;
    if (ANNOTATIONS.has(keyword)) return [];
    if (!KEYWORDS.has(keyword)) {
      return [{ at: place, message: "is not checked here: leave it out." }];
    }
    const isOther = /(?:Length|Items)$/.test(keyword) ? isCount : isNumber;
    const isArgument = ARGUMENTS.get(keyword) ?? isOther;
    if (!isArgument(argument)) return [{ at: place, message: WRONG }];
    return subschemasIn(keyword, argument).flatMap(([keys, part]) =>
      schemaFaults(part, [place, ...keys].join("."), depth + 1),
    );
  });
}

const WRONG = "is not written as JSON Schema has it.";
