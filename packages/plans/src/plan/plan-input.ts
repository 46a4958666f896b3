import * as limits from "../../../../src/limits.ts";
import { ByrefError } from "../../../../src/errors.ts";
import { type Issue, issuesIn, KEYWORDS } from "./schema-check.ts";
import type { Finding } from "./findings.ts";
import { encoding, json } from "../../../../src/internal.ts";
import { jsonSchemas, type Plan } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";

/** Adds the defaults of the schema's properties to an input that leaves them out. */
export function withDefaults({ input: schema }: Pick<Plan, "input">, input: Json): Json {
  const { properties } = Object(schema) as { properties?: Record<string, { default?: Json }> };
  if (properties === undefined || !json.isJsonObject(input)) return input;
  const defaults = Object.entries(properties).flatMap(([key, { default: value }]) =>
    value === undefined || Object.hasOwn(input, key) ? [] : [[key, value]],
  );
  return defaults.length === 0 ? input : { ...input, ...Object.fromEntries(defaults) };
}

export function inputFindings({ input }: Pick<Plan, "input">): readonly Finding[] {
  if (input === undefined) return [];
  // JSON Schema is JSON, and a plan's schema was parsed from it.
  return schemaFaults(input as unknown as Json).map(({ at, message }) => ({
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
  const issues = issuesIn(schema, input, { at: "input" });
  if (issues.length === 0) return;
  const texts = issues.slice(0, MAX_SHOWN_ISSUES).map(({ at, message }) => `${at} ${message}`);
  throw new ByrefError("invalid_plan", texts.join(" "), { issues });
}

const MAX_SHOWN_ISSUES = 3;

function requireSmall(input: Json): void {
  const bytes = encoding.byteLength(JSON.stringify(input));
  if (bytes <= limits.maxRecordBytes) return;
  const message = `An input has at most ${limits.maxRecordBytes} bytes, this one ${bytes}: keep long data in variables, and give their names.`;
  throw new ByrefError("body_too_large", message);
}

/** Keywords that do not constrain a value. */
const ANNOTATIONS = new Set(
  "$schema $id title description default examples format deprecated readOnly writeOnly $comment".split(
    " ",
  ),
);

/**
 * Finds the parts of a JSON Schema that are unsupported or malformed, by keyword path. References, conditions
 * and regular expressions are unsupported. A regular expression can run without end.
 */
export function schemaFaults(schema: Json, at = "input", depth = 0): readonly Issue[] {
  if (depth > limits.maxDepth) return [{ at, message: WRONG }];
  if (!json.isJsonObject(schema))
    return typeof schema === "boolean" ? [] : [{ at, message: WRONG }];
  return Object.entries(schema).flatMap(([keyword, argument]) => {
    const place = `${at}.${keyword}`;
    if (ANNOTATIONS.has(keyword)) return [];
    const known = KEYWORDS.get(keyword);
    if (known === undefined) return [{ at: place, message: "is not checked here: leave it out." }];
    if (!known.isArgument(argument)) return [{ at: place, message: WRONG }];
    return jsonSchemas
      .subschemasIn(keyword, argument)
      .flatMap(([keys, part]) => schemaFaults(part, [place, ...keys].join("."), depth + 1));
  });
}

const WRONG = "is not written as JSON Schema has it.";

/** The labels of a run's input: what a webhook brings is a stranger's. */
export function inputLabels(isTrusted: boolean) {
  return isTrusted ? {} : { trusted: false, sources: ["webhook"] };
}
