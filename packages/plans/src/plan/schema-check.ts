import type { JSONSchema7 } from "ai";
import { requireAtMost } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { characters, charsOf, exactNumbers, json } from "../../../../src/internal.ts";
import { jsonSchemas } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";

/** A value that does not fit its schema. `at` is its path, e.g. `input.items.0`. */
export interface Issue {
  readonly at: string;
  readonly message: string;
}

interface Keyword {
  readonly isArgument: (argument: Json) => boolean;
  /** Returns what is wrong with a value; `at` is below it. Absent for keywords that hold schemas. */
  readonly check?: (value: Json, argument: Json) => readonly Issue[];
}

const TYPES = new Set<Json>("null boolean integer number string array object".split(" "));
const isSchema = (argument: Json) => typeof argument === "boolean" || json.isJsonObject(argument);
const areSchemas = (argument: Json) => json.isJsonArray(argument) && argument.length > 0;
const isNumber = (argument: Json) => typeof argument === "number";
const isCount = (argument: Json) => Number.isInteger(argument) && Number(argument) >= 0;

/** A value of a type that a keyword does not apply to passes. */
export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  [
    "type",
    {
      isArgument: (argument) => listOf(argument).every((type) => TYPES.has(type)),
      check(value, argument) {
        const types = listOf(argument);
        const type = json.typeOfJson(value);
        const isInteger = types.includes("integer") && exactNumbers.isWhole(value);
        const message = `must be ${types.join(" or ")}, and is ${type}.`;
        return issueUnless(isInteger || types.includes(type), message);
      },
    },
  ],
  [
    "enum",
    {
      isArgument: json.isJsonArray,
      check: (value, argument) => {
        const options = listOf(argument);
        return issueUnless(optionsIn(options).has(json.canonicalJson(value)), mustBe(options));
      },
    },
  ],
  [
    "const",
    {
      isArgument: () => true,
      check: (value, option) =>
        issueUnless(json.canonicalJson(option) === json.canonicalJson(value), mustBe([option])),
    },
  ],
  [
    "required",
    {
      isArgument: (names) =>
        json.isJsonArray(names) && names.every((name) => typeof name === "string"),
      check: (value, names) =>
        listOf(json.isJsonObject(value) ? names : []).flatMap((name) =>
          issueUnless(Object.hasOwn(Object(value), String(name)), "is missing.", String(name)),
        ),
    },
  ],
  ["minimum", bound("at least", (value, limit) => value >= limit)],
  ["maximum", bound("at most", (value, limit) => value <= limit)],
  ["exclusiveMinimum", bound("more than", (value, limit) => value > limit)],
  ["exclusiveMaximum", bound("less than", (value, limit) => value < limit)],
  ["minLength", count("string", "at least", (length, limit) => length >= limit)],
  ["maxLength", count("string", "at most", (length, limit) => length <= limit)],
  ["minItems", count("array", "at least", (length, limit) => length >= limit)],
  ["maxItems", count("array", "at most", (length, limit) => length <= limit)],
  ["properties", { isArgument: json.isJsonObject }],
  ["additionalProperties", { isArgument: isSchema }],
  ["items", { isArgument: isSchema }],
  ["anyOf", { isArgument: areSchemas }],
  ["allOf", { isArgument: areSchemas }],
]);

function bound(words: string, isMet: (value: number, limit: number) => boolean): Keyword {
  return {
    isArgument: isNumber,
    check: (value, limit) =>
      issueUnless(
        // Beyond the digits of a double, numbers that it does not tell apart are equal.
        json.typeOfJson(value) !== "number" || isMet(Number(JSON.stringify(value)), Number(limit)),
        `must be ${words} ${String(limit)}.`,
      ),
  };
}

function count(
  type: "string" | "array",
  words: string,
  isMet: (length: number, limit: number) => boolean,
): Keyword {
  return {
    isArgument: isCount,
    check(value, limit) {
      if (json.typeOfJson(value) !== type) return [];
      // Characters are code points, as in all limits.
      const length =
        typeof value === "string" ? characters.codePointCount(value) : listOf(value).length;
      const message = `must have ${words} ${String(limit)}, and has ${length}.`;
      return issueUnless(isMet(length, Number(limit)), message);
    },
  };
}

function issueUnless(isMet: boolean, message: string, at = ""): readonly Issue[] {
  return isMet ? [] : [{ at, message }];
}

function listOf(argument: Json): readonly Json[] {
  return json.isJsonArray(argument) ? argument : [argument];
}

/** By the list, which many elements are compared with. */
const knownOptions = new WeakMap<object, ReadonlySet<string>>();

function optionsIn(options: readonly Json[]): ReadonlySet<string> {
  const known = knownOptions.get(options) ?? new Set(options.map(json.canonicalJson));
  knownOptions.set(options, known);
  return known;
}

const MAX_OPTIONS = 10;
const MAX_OPTION_CHARS = 80;

function mustBe(options: readonly Json[]): string {
  const shown = options.slice(0, MAX_OPTIONS).map((option) => {
    const written = JSON.stringify(option);
    return written.length > MAX_OPTION_CHARS
      ? `${characters.clip(written, MAX_OPTION_CHARS)}…`
      : written;
  });
  const more = options.length - shown.length;
  return `must be ${[...shown, ...(more > 0 ? [`one of ${more} more`] : [])].join(" or ")}.`;
}

interface CheckOptions {
  readonly at?: string;
  /** Places whose values are unknown. */
  readonly open?: ReadonlySet<string>;
  readonly maximum?: number;
}

/**
 * Returns the first `maxShownItems` issues of a value, with `$ref`, `allOf`, `anyOf` and `oneOf`. A keyword that is
 * not checked, or malformed, is no issue. Throws `limit_exceeded` if the check takes more than `maximum` steps.
 */
export function issuesIn(
  definition: jsonSchemas.Definition,
  value: Json,
  { at = "", open = new Set(), maximum = limits.maxSchemaChecks }: CheckOptions = {},
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
    requireAtMost(["maxSchemaChecks", maximum], work, advice);
    if (typeof schema === "boolean")
      return issueUnless(schema, "must not be there: remove it.", at);
    // JSON Schema is JSON.
    const own = Object.entries(schema as Readonly<Record<string, Json>>);
    const issues = own.flatMap(([name, argument]) => {
      const keyword = KEYWORDS.get(name);
      const isChecked = keyword?.check !== undefined && keyword.isArgument(argument);
      return isChecked ? keyword.check(value, argument) : [];
    });
    const placed = issues.map((issue) => ({ ...issue, at: joined(at, issue.at) }));
    return [...placed, ...innerIssues(schema, value, at)];
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

/** Joins the messages of the first alternatives: "must be integer, and is string; must be null, and is string". */
function firstOf(results: readonly (readonly Issue[])[]): string {
  const messages = results.slice(0, MAX_ALTERNATIVES).map(([issue]) => issue?.message ?? "");
  const joined = messages.map((message) => message.replace(/\.$/u, "")).join("; ");
  // Alternatives of alternatives multiply.
  return characters.clip(joined, MAX_ALTERNATIVES_CHARS);
}

const MAX_ALTERNATIVES = 3;
const MAX_ALTERNATIVES_CHARS = 1_000;

function joined(at: string, key: string): string {
  return at === "" || key === "" ? at + key : `${at}.${key}`;
}
