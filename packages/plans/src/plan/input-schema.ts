import { limitExceeded } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { clip, codePointCount } from "../../../../src/value/characters.ts";
import {
  isJsonArray,
  isJsonObject,
  isScalar,
  type Json,
  type JsonObject,
  typeOfJson,
} from "../../../../src/value/json.ts";

/** A value that does not fit its schema. `at` is its path, e.g. `input.items.0`. */
export interface Issue {
  readonly at: string;
  readonly message: string;
}

type Check = (argument: Json, given: Given) => void;

interface Given {
  readonly value: Json;
  readonly at: string;
  readonly schema: JsonObject;
  readonly run: Checking;
}

/** The checks by keyword. A value of a type that the keyword does not apply to passes. */
const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["type", checkType],
  ["enum", checkEnum],
  ["const", checkConst],
  ["properties", checkProperties],
  ["required", checkRequired],
  ["additionalProperties", checkOthers],
  ["items", checkItems],
  ["anyOf", checkAny],
  [
    "allOf",
    (schemas, { value, at, run }) => {
      for (const schema of listIn(schemas)) run.check(schema, value, at);
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
]);

/** The keywords that are checked. */
export const KEYWORDS: ReadonlySet<string> = new Set(checks.keys());

/**
 * Returns the first `maxShownItems` issues of a value. The schema must be valid. Throws `limit_exceeded` if
 * checking takes more than `maxSchemaChecks` steps.
 */
export function issuesIn(schema: Json, value: Json): readonly Issue[] {
  const run = new Checking(limits.maxShownItems, {
    work: 0,
    written: new Map(),
    options: new Map(),
  });
  run.check(schema, value, "input");
  return run.issues;
}

/** State shared by all checks of one value. */
interface Shared {
  work: number;
  /** Arrays and objects as text with sorted keys. */
  readonly written: Map<Json, string>;
  /** The options of each `enum` array. */
  readonly options: Map<Json, ReadonlySet<Json>>;
}

class Checking {
  readonly issues: Issue[] = [];
  readonly #maximum: number;
  readonly #shared: Shared;

  constructor(maximum: number, shared: Shared) {
    this.#maximum = maximum;
    this.#shared = shared;
  }

  check(schema: Json, value: Json, at: string): void {
    if (this.issues.length === this.#maximum) return;
    this.spend(1);
    if (schema === false) this.report(at, "must not be there: remove it.");
    if (!isJsonObject(schema)) return;
    for (const [keyword, argument] of Object.entries(schema)) {
      this.spend(1);
      checks.get(keyword)?.(argument, { value, at, schema, run: this });
    }
  }

  isMet(schema: Json, value: Json): boolean {
    const inner = new Checking(1, this.#shared);
    inner.check(schema, value, "");
    return inner.issues.length === 0;
  }

  report(at: string, message: string): void {
    if (this.issues.length < this.#maximum) this.issues.push({ at: clip(at, 200), message });
  }

  spend(steps: number): void {
    this.#shared.work += steps;
    const maximum = limits.maxSchemaChecks;
    if (this.#shared.work <= maximum) return;
    const advice = "Give a smaller input, or simplify the schema.";
    throw limitExceeded("maxSchemaChecks", { maximum, actual: this.#shared.work, advice });
  }

  /** A key that is the same for equal values, whatever the order of their keys. */
  keyOf(value: Json): Json {
    if (isScalar(value)) return typeof value === "string" ? `"${value}` : value;
    const known = this.#shared.written.get(value);
    if (known !== undefined) return known;
    const written = JSON.stringify(value, (_, inner: Json) => this.#ordered(inner));
    this.spend(stepsFor(written));
    this.#shared.written.set(value, written);
    return written;
  }

  optionsIn(options: readonly Json[]): ReadonlySet<Json> {
    const known = this.#shared.options.get(options);
    if (known !== undefined) return known;
    const made = new Set(options.map((option) => this.keyOf(option)));
    this.#shared.options.set(options, made);
    return made;
  }

  #ordered(value: Json): Json {
    this.spend(1);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)),
    );
  }
}

/** Number of characters that count as one step. */
const STEP_CHARS = 64;

function stepsFor(text: string): number {
  return Math.ceil(text.length / STEP_CHARS);
}

function listIn(argument: Json): readonly Json[] {
  return isJsonArray(argument) ? argument : [];
}

function checkType(argument: Json, { value, at, run }: Given): void {
  const types = isJsonArray(argument) ? argument : [argument];
  const type = typeOfJson(value);
  const isInteger = types.includes("integer") && Number.isInteger(value);
  if (types.includes(type) || isInteger) return;
  run.report(at, `must be ${types.join(" or ")}, and is ${type}.`);
}

function checkEnum(argument: Json, { value, at, run }: Given): void {
  const options = listIn(argument);
  if (!run.optionsIn(options).has(run.keyOf(value))) run.report(at, mustBe(options));
}

function checkConst(option: Json, { value, at, run }: Given): void {
  if (run.keyOf(option) !== run.keyOf(value)) run.report(at, mustBe([option]));
}

const MAX_OPTIONS = 10;
const MAX_OPTION_CHARS = 80;

function mustBe(options: readonly Json[]): string {
  const shown = options.slice(0, MAX_OPTIONS).map((option) => {
    const written = JSON.stringify(option);
    return written.length > MAX_OPTION_CHARS ? `${clip(written, MAX_OPTION_CHARS)}…` : written;
  });
  const more = options.length - shown.length;
  return `must be ${[...shown, ...(more > 0 ? [`one of ${more} more`] : [])].join(" or ")}.`;
}

function checkProperties(argument: Json, { value, at, run }: Given): void {
  if (!isJsonObject(argument) || !isJsonObject(value)) return;
  for (const [key, schema] of Object.entries(argument)) {
    run.spend(1);
    const inner = Object.hasOwn(value, key) ? value[key] : undefined;
    if (inner !== undefined) run.check(schema, inner, `${at}.${key}`);
  }
}

function checkRequired(argument: Json, { value, at, run }: Given): void {
  if (!isJsonObject(value)) return;
  for (const key of listIn(argument)) {
    run.spend(1);
    if (!Object.hasOwn(value, String(key))) run.report(`${at}.${String(key)}`, "is missing.");
  }
}

function checkOthers(argument: Json, { value, at, schema, run }: Given): void {
  if (!isJsonObject(value)) return;
  const { properties } = schema;
  const known = properties !== undefined && isJsonObject(properties) ? properties : {};
  for (const [key, inner] of Object.entries(value)) {
    run.spend(1);
    if (!Object.hasOwn(known, key)) run.check(argument, inner, `${at}.${key}`);
  }
}

function checkItems(schema: Json, { value, at, run }: Given): void {
  if (!isJsonArray(value)) return;
  for (const [index, item] of value.entries()) run.check(schema, item, `${at}.${index}`);
}

function checkAny(schemas: Json, { value, at, run }: Given): void {
  if (listIn(schemas).some((schema) => run.isMet(schema, value))) return;
  run.report(at, "fits none of the schemas in anyOf.");
}

function bound(words: string, isMet: (value: number, limit: number) => boolean): Check {
  return (limit, { value, at, run }) => {
    if (typeof value !== "number" || typeof limit !== "number" || isMet(value, limit)) return;
    run.report(at, `must be ${words} ${limit}.`);
  };
}

function count(
  type: "string" | "array",
  words: string,
  isMet: (length: number, limit: number) => boolean,
): Check {
  return (limit, { value, at, run }) => {
    if (typeOfJson(value) !== type || typeof limit !== "number") return;
    const length = lengthOf(value, run);
    if (isMet(length, limit)) return;
    run.report(at, `must have ${words} ${limit}, and has ${length}.`);
  };
}

function lengthOf(value: Json, run: Checking): number {
  if (typeof value !== "string") return listIn(value).length;
  run.spend(stepsFor(value));
  // Characters are code points, as in all limits.
  return codePointCount(value);
}
