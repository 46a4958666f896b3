import * as limits from "../limits.ts";
import { subschemasIn } from "../tool/json-schema.ts";
import { isJsonArray, isJsonObject, type Json } from "../value/json.ts";
import { type Issue, KEYWORDS } from "./input-schema.ts";

/** Keywords that ask nothing of a value. */
const ANNOTATIONS = new Set(
  "$schema $id title description default examples format deprecated readOnly writeOnly $comment".split(
    " ",
  ),
);

const TYPES = new Set<Json>("null boolean integer number string array object".split(" "));

type IsArgument = (argument: Json) => boolean;

const isSchema: IsArgument = (argument) => typeof argument === "boolean" || isJsonObject(argument);
const areSchemas: IsArgument = (argument) => isJsonArray(argument) && argument.length > 0;

/** What may be a keyword's argument; of those that are not here a count or a number. */
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
 * What a JSON Schema asks that is not checked here, or is written wrongly, by the paths of its keywords: for
 * one references, conditions, and regular expressions, of which one can take for ever.
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
