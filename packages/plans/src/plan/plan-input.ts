import * as limits from "../../../../src/limits.ts";
import { ByrefError, requireAtMost } from "../../../../src/errors.ts";
import type { Finding } from "./plan-format.ts";
import { encoding, json, characters, charsOf, exactNumbers } from "../../../../src/internal.ts";
import { jsonSchemas, type Plan } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import type { JSONSchema7 } from "ai";

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

/** A value that does not fit its schema. `at` is its path, e.g. `input.items.0`. */
export interface Issue {
  readonly at: string;
  readonly message: string;
}

interface Keyword {
  readonly isArgument: (argument: Json) => boolean;
  /** Returns what is wrong with a value. Absent for keywords that hold schemas. */
  readonly check?: (value: Json, argument: Json) => string | undefined;
}

const TYPES = new Set<Json>("null boolean integer number string array object".split(" "));
const isSchema = (argument: Json) => typeof argument === "boolean" || json.isJsonObject(argument);
const areSchemas = (argument: Json) => json.isJsonArray(argument) && argument.length > 0;

/** A value of a type that a keyword does not apply to passes. */
const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  [
    "type",
    {
      isArgument: (argument) => listOf(argument).every((type) => TYPES.has(type)),
      check(value, argument) {
        const types = listOf(argument);
        const type = json.typeOfJson(value);
        const isInteger = types.includes("integer") && exactNumbers.isWhole(value);
        if (isInteger || types.includes(type)) return undefined;
        return `must be ${types.join(" or ")}, and is ${type}.`;
      },
    },
  ],
  ["enum", { isArgument: json.isJsonArray, check: unlessOneOf }],
  ["const", { isArgument: () => true, check: (value, only) => unlessOneOf(value, [only]) }],
  [
    "required",
    {
      isArgument: (names) =>
        json.isJsonArray(names) && names.every((name) => typeof name === "string"),
    },
  ],
  ["minimum", bound("number", "at least", (size, limit) => size >= limit)],
  ["maximum", bound("number", "at most", (size, limit) => size <= limit)],
  ["exclusiveMinimum", bound("number", "more than", (size, limit) => size > limit)],
  ["exclusiveMaximum", bound("number", "less than", (size, limit) => size < limit)],
  ["minLength", bound("string", "at least", (size, limit) => size >= limit)],
  ["maxLength", bound("string", "at most", (size, limit) => size <= limit)],
  ["minItems", bound("array", "at least", (size, limit) => size >= limit)],
  ["maxItems", bound("array", "at most", (size, limit) => size <= limit)],
  ["properties", { isArgument: json.isJsonObject }],
  ["additionalProperties", { isArgument: isSchema }],
  ["items", { isArgument: isSchema }],
  ["anyOf", { isArgument: areSchemas }],
  ["allOf", { isArgument: areSchemas }],
]);

/** A bound of a number, or of the length of a text or list. */
function bound(
  of: "number" | "string" | "array",
  words: string,
  isMet: (size: number, limit: number) => boolean,
): Keyword {
  return {
    isArgument: (argument) =>
      of === "number"
        ? typeof argument === "number"
        : Number.isInteger(argument) && Number(argument) >= 0,
    check(value, limit) {
      if (json.typeOfJson(value) !== of || isMet(sizeOf(value), Number(limit))) return undefined;
      if (of === "number") return `must be ${words} ${String(limit)}.`;
      return `must have ${words} ${String(limit)}, and has ${sizeOf(value)}.`;
    },
  };
}

/** Beyond the digits of a double, numbers that it does not tell apart are equal. Characters are code points. */
function sizeOf(value: Json): number {
  if (json.isJsonArray(value)) return value.length;
  return typeof value === "string"
    ? characters.codePointCount(value)
    : Number(JSON.stringify(value));
}

function listOf(argument: Json): readonly Json[] {
  return json.isJsonArray(argument) ? argument : [argument];
}

/** Options as canonical JSON, by their list, which many elements are compared with. */
const canonicalOptions = new WeakMap<object, ReadonlySet<string>>();

function unlessOneOf(value: Json, options: Json): string | undefined {
  const all = listOf(options);
  const known = canonicalOptions.get(all) ?? new Set(all.map(json.canonicalJson));
  canonicalOptions.set(all, known);
  if (known.has(json.canonicalJson(value))) return undefined;
  const shown = all.slice(0, 10).map((option) => JSON.stringify(option));
  return `must be ${characters.clip(shown.join(" or "), 800)}${all.length > 10 ? " …" : ""}.`;
}

interface CheckOptions {
  readonly at?: string;
  /** Places whose values are unknown. */
  readonly open?: ReadonlySet<string>;
}

/**
 * Returns the first `maxShownItems` issues of a value, with `$ref`, `allOf`, `anyOf` and `oneOf`. A keyword that is
 * not checked, or malformed, is no issue. Throws `limit_exceeded` if the check takes more than `maxSchemaChecks` steps.
 */
export function issuesIn(
  definition: jsonSchemas.Definition,
  value: Json,
  { at = "", open = new Set() }: CheckOptions = {},
): readonly Issue[] {
  const root = typeof definition === "boolean" ? {} : definition;
  let work = 0;
  return check(definition, value, at)
    .slice(0, limits.maxShownItems)
    .map((issue) => ({ ...issue, at: characters.clip(issue.at, 200) }));

  function check(one: jsonSchemas.Definition, value: Json, at: string): readonly Issue[] {
    if (open.has(at)) return [];
    return jsonSchemas.foldSchema<readonly Issue[]>(one, root, {
      own: (schema) => ownIssues(schema, value, at),
      all: (results) => results.flat(),
      any: (results) =>
        results.some(({ length }) => length === 0)
          ? []
          : [{ at, message: `fits none of the alternatives: ${firstOf(results)}.` }],
    });
  }

  function ownIssues(schema: jsonSchemas.Definition, value: Json, at: string): readonly Issue[] {
    work += costOf(schema, value);
    const advice = "Give a smaller input, or simplify the schema.";
    requireAtMost("maxSchemaChecks", work, advice);
    if (schema === true) return [];
    if (schema === false) return [{ at, message: "must not be there: remove it." }];
    const { required } = schema;
    const isObject = json.isJsonObject(value) && Array.isArray(required);
    const missing = (isObject ? required : [])
      .filter((key) => !Object.hasOwn(Object(value), key))
      .map((key) => ({ at: joined(at, key), message: "is missing." }));
    // JSON Schema is JSON.
    const own = Object.entries(schema as Readonly<Record<string, Json>>);
    const issues = own.flatMap(([name, argument]) => {
      const { check, isArgument } = KEYWORDS.get(name) ?? {};
      const message = isArgument?.(argument) === true ? check?.(value, argument) : undefined;
      return message === undefined ? [] : [{ at, message }];
    });
    return [...missing, ...issues, ...innerIssues(schema, value, at)];
  }

  function innerIssues(schema: JSONSchema7, value: Json, at: string): readonly Issue[] {
    if (json.isJsonArray(value)) {
      const { items } = schema;
      // A tuple's other elements.
      if (items === undefined || json.isJsonArray(items as Json) || "prefixItems" in schema)
        return [];
      return value.flatMap((item, index) =>
        check(items as jsonSchemas.Definition, item, joined(at, String(index))),
      );
    }
    if (!json.isJsonObject(value)) return [];
    const { properties = {}, patternProperties, additionalProperties: others = true } = schema;
    return Object.entries(value).flatMap(([key, inner]) => {
      const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
      const rest = patternProperties === undefined ? others : true;
      return check(own ?? rest, inner, joined(at, key));
    });
  }
}

/** Values are compared as texts. */
function costOf(schema: jsonSchemas.Definition, value: Json): number {
  if (typeof schema === "boolean") return 1;
  const { enum: options, const: only, required, minLength, maxLength } = schema;
  const isRead = [options, only, minLength, maxLength].some((one) => one !== undefined);
  const chars = isRead ? charsOf(value, Infinity) : 0;
  const lengths = [options, required].flatMap((list) => (Array.isArray(list) ? list.length : []));
  return lengths.reduce((sum, length) => sum + length, 1 + Math.ceil(chars / 64));
}

/** The messages of the first alternatives: "must be integer, and is string; must be null, and is string". */
function firstOf(results: readonly (readonly Issue[])[]): string {
  const messages = results.slice(0, 3).map(([issue]) => issue?.message.replace(/\.$/u, ""));
  // Alternatives of alternatives multiply.
  return characters.clip(messages.join("; "), 1_000);
}

function joined(at: string, key: string): string {
  return at === "" ? key : `${at}.${key}`;
}
