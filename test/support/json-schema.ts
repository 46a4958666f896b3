import type { JSONSchema7 } from "ai";
import { isJsonArray, isJsonObject, type Json } from "../../src/value/json.ts";

type Definition = JSONSchema7 | boolean;

/** Says nothing about which values fit. */
const ANNOTATIONS = new Set(["$schema", "$id", "$defs", "definitions", "title", "description"]);
const MORE_ANNOTATIONS = new Set(["default", "examples", "then", "else"]);

const FORMATS: Readonly<Record<string, RegExp>> = {
  email: /^[^@$]+@[^@]+$/u,
  uri: /^[a-z]+:/u,
  "date-time": /^\d{4}-\d\d-\d\dT/u,
  uuid: /^[0-9a-f-]{36}$/u,
};

type Check = (expected: never, value: Json, schema: JSONSchema7) => boolean;

/**
 * Does the value fit the schema (draft 7)? As strict as a provider's constrained decoding: formats count,
 * and a keyword that is not known here throws.
 */
export function fits(root: JSONSchema7, value: Json): boolean {
  return new Validator(root).fits(root, value);
}

class Validator {
  readonly #root: JSONSchema7;

  constructor(root: JSONSchema7) {
    this.#root = root;
  }

  fits(schema: Definition, value: Json): boolean {
    if (typeof schema === "boolean") return schema;
    if (schema.$ref !== undefined) return this.fits(this.#resolve(schema.$ref), value);
    return Object.entries(schema).every(([keyword, expected]) => {
      if (ANNOTATIONS.has(keyword) || MORE_ANNOTATIONS.has(keyword)) return true;
      const check = this.#checks[keyword];
      if (check === undefined) throw new Error(`The keyword ${keyword} is not known.`);
      return check(expected as never, value, schema);
    });
  }

  #resolve(pointer: string): Definition {
    let at: unknown = this.#root;
    for (const key of pointer.split("/").slice(1)) at = (at as Record<string, unknown>)[key];
    if (at === undefined) throw new Error(`${pointer} leads nowhere.`);
    return at as Definition;
  }

  readonly #checks: Readonly<Record<string, Check>> = {
    type: (types: string | readonly string[], value) => {
      const all = typeof types === "string" ? [types] : types;
      if (new Set(all).size < all.length) throw new Error(`Types are given twice: ${all.join()}`);
      return all.some((type) => isOfType(type, value));
    },
    enum: (values: readonly Json[], value) => values.some((one) => isSame(one, value)),
    const: (one: Json, value) => isSame(one, value),
    pattern: (pattern: string, value) => ifText(value, (text) => new RegExp(pattern).test(text)),
    format: (format: string, value) =>
      ifText(value, (text) => FORMATS[format]?.test(text) ?? !text.startsWith("$")),
    minLength: (least: number, value) => ifText(value, (text) => [...text].length >= least),
    maxLength: (most: number, value) => ifText(value, (text) => [...text].length <= most),
    minimum: (least: number, value) => typeof value !== "number" || value >= least,
    maximum: (most: number, value) => typeof value !== "number" || value <= most,
    exclusiveMinimum: (least: number, value) => typeof value !== "number" || value > least,
    exclusiveMaximum: (most: number, value) => typeof value !== "number" || value < most,
    multipleOf: (step: number, value) => typeof value !== "number" || value % step === 0,
    minItems: (least: number, value) => !isJsonArray(value) || value.length >= least,
    maxItems: (most: number, value) => !isJsonArray(value) || value.length <= most,
    items: (items: Definition | readonly Definition[], value) =>
      !isJsonArray(value) ||
      value.every((element, at) => {
        const schema = Array.isArray(items) ? (items as readonly Definition[])[at] : items;
        return schema === undefined || this.fits(schema as Definition, element);
      }),
    additionalItems: (rest: Definition, value, { items }) =>
      !isJsonArray(value) ||
      !Array.isArray(items) ||
      value.slice(items.length).every((element) => this.fits(rest, element)),
    required: (keys: readonly string[], value) =>
      !isJsonObject(value) || keys.every((key) => Object.hasOwn(value, key)),
    properties: (properties: Readonly<Record<string, Definition>>, value) =>
      !isJsonObject(value) ||
      Object.entries(properties).every(
        ([key, schema]) => !Object.hasOwn(value, key) || this.fits(schema, value[key] ?? null),
      ),
    additionalProperties: (rest: Definition, value, { properties = {} }) =>
      !isJsonObject(value) ||
      Object.entries(value).every(
        ([key, inner]) => Object.hasOwn(properties, key) || this.fits(rest, inner),
      ),
    propertyNames: (names: Definition, value) =>
      !isJsonObject(value) || Object.keys(value).every((key) => this.fits(names, key)),
    anyOf: (schemas: readonly Definition[], value) => this.#count(schemas, value) > 0,
    oneOf: (schemas: readonly Definition[], value) => this.#count(schemas, value) === 1,
    allOf: (schemas: readonly Definition[], value) =>
      this.#count(schemas, value) === schemas.length,
    not: (schema: Definition, value) => !this.fits(schema, value),
  };

  #count(schemas: readonly Definition[], value: Json): number {
    return schemas.filter((schema) => this.fits(schema, value)).length;
  }
}

function ifText(value: Json, check: (text: string) => boolean): boolean {
  return typeof value !== "string" || check(value);
}

function isOfType(type: string, value: Json): boolean {
  if (type === "null") return value === null;
  if (type === "array") return isJsonArray(value);
  if (type === "object") return isJsonObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function isSame(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
