import type { JSONSchema7 } from "ai";
import { codeOf } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { type Definition, foldSchema } from "../../../../src/tool/json-schema.ts";
import { isJsonArray, isJsonObject, type Json } from "../../../../src/value/json.ts";
import { charsOf } from "../../../../src/value/json-text.ts";
import { type Issue, issuesIn } from "./input-schema.ts";
import { schemaFaults } from "./plan-input.ts";

/** Keywords about one value that hold no schemas. */
const OWN = new Set(
  "type enum const required minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems".split(
    " ",
  ),
);

/**
 * Finds the values that cannot fit a JSON Schema, with `$ref`, `allOf`, `anyOf` and `oneOf`. A keyword that
 * is not checked, or malformed, is no finding, nor is anything at the places `open`, whose values are unknown.
 * Reports nothing if the check takes too long.
 */
export function schemaFindings(
  schema: JSONSchema7,
  value: Json,
  open: ReadonlySet<string>,
): readonly Issue[] {
  try {
    return new SchemaCheck(schema, open).check(schema, value, "").slice(0, limits.maxShownItems);
  } catch (error) {
    if (codeOf(error) !== "limit_exceeded" && !(error instanceof RangeError)) throw error;
    return [];
  }
}

class SchemaCheck {
  readonly #root: JSONSchema7;
  readonly #open: ReadonlySet<string>;
  #left = limits.maxSchemaChecks;

  constructor(root: JSONSchema7, open: ReadonlySet<string>) {
    this.#root = root;
    this.#open = open;
  }

  check(definition: Definition, value: Json, at: string): readonly Issue[] {
    if (this.#open.has(at)) return [];
    return foldSchema<readonly Issue[]>(definition, this.#root, {
      own: (schema) => this.#own(schema, value, at),
      all: (results) => results.flat(),
      any: (results) =>
        results.some(({ length }) => length === 0)
          ? []
          : [{ at, message: `fits none of the alternatives: ${firstOf(results)}.` }],
    });
  }

  #own(schema: Definition, value: Json, at: string): readonly Issue[] {
    this.#left -= costOf(schema, value);
    if (this.#left < 0) throw new RangeError("The check takes too long.");
    if (typeof schema === "boolean")
      return schema ? [] : [{ at, message: "must not be there: remove it." }];
    const entries = Object.entries(schema).filter(([keyword]) => OWN.has(keyword));
    // JSON Schema is JSON.
    const own = Object.fromEntries(entries) as Record<string, Json>;
    const issues = schemaFaults(own).length > 0 ? [] : issuesIn(own, value);
    const named = issues.map(({ at: place, message }) => ({
      at: joined(at, place.slice("input.".length)),
      message,
    }));
    return [...named, ...this.#inner(schema, value, at)];
  }

  #inner(schema: JSONSchema7, value: Json, at: string): readonly Issue[] {
    if (isJsonArray(value)) {
      const { items } = schema;
      // A tuple's other elements.
      if (items === undefined || isJsonArray(items as Json) || "prefixItems" in schema) return [];
      return value.flatMap((item, index) =>
        this.check(items as Definition, item, joined(at, String(index))),
      );
    }
    if (!isJsonObject(value)) return [];
    const { properties = {}, patternProperties, additionalProperties: others = true } = schema;
    return Object.entries(value).flatMap(([key, inner]) => {
      const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
      const rest = patternProperties === undefined ? others : true;
      return this.check(own ?? rest, inner, joined(at, key));
    });
  }
}

/** Values are compared as texts. */
function costOf(schema: Definition, value: Json): number {
  if (typeof schema === "boolean") return 1;
  const { enum: options = [], const: only, required = [], minLength, maxLength } = schema;
  const isRead = [only, minLength, maxLength].some((one) => one !== undefined);
  const chars = isRead || options.length > 0 ? charsOf(value, Infinity) : 0;
  return 1 + options.length + required.length + Math.ceil(chars / 64);
}

/** Joins the messages of the first alternatives: "must be integer, and is string; must be null, and is string". */
function firstOf(results: readonly (readonly Issue[])[]): string {
  const messages = results.slice(0, MAX_ALTERNATIVES).map(([issue]) => issue?.message ?? "");
  return messages.map((message) => message.replace(/\.$/u, "")).join("; ");
}

const MAX_ALTERNATIVES = 3;

function joined(at: string, key: string): string {
  return at === "" || key === "" ? at + key : `${at}.${key}`;
}
