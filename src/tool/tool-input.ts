import {
  type ExactNumber,
  isExactNumber,
  mapExactNumbers,
  printedDouble,
} from "../value/exact-number.ts";
import * as z from "zod";
import {
  canonicalJson,
  copyJson,
  isJsonObject,
  isObject,
  type Json,
  type JsonArray,
  jsonIn,
  type JsonObject,
  typeOfJson,
} from "../value/json.ts";
import { asSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7, ToolSet } from "ai";
import { ByrefError, messageOf } from "../errors.ts";
import * as limits from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import { wholeReference } from "../reference/reference.ts";
import type { Resolution } from "../reference/resolve.ts";
import { pickSyntaxes } from "../reference/syntaxes.ts";
import { clip } from "../value/characters.ts";
import { charsOf } from "../value/json-text.ts";
import { toHex } from "../value/encoding.ts";
import { requireJson } from "../value/require-json.ts";
import { shapeOf } from "../value/shape.ts";
import { mapScalars, typesAt, typesIn } from "./json-schema.ts";
import { Labels } from "../store/labels.ts";
import { automaticBase } from "../store/names.ts";
import type { Failed, ToolPolicy } from "./policy.ts";
import { newestNames } from "./store-lookup.ts";
import { isShort } from "./tool-output.ts";
import type { CallOptions, WrapOptions } from "./wrapped-tool.ts";

const MAX_ISSUES = 10;
const MAX_ISSUE_CHARS = 200;

interface CheckOptions {
  readonly unresolved: readonly Unresolved[];
  readonly readonly: boolean;
  /** Returns what else a model needs to correct an input that does not fit. */
  readonly hint?: () => string;
}

/**
 * Returns the resolved input as the tool's own schema returns it: with defaults, and sharing no object with
 * a stored value unless `readonly`. Throws `invalid_tool_input`, whose message names references that stayed
 * unresolved, because they are the likely cause.
 */
export async function checkInput(
  tool: Pick<ToolSet[string], "inputSchema">,
  input: Json,
  options: CheckOptions,
): Promise<unknown> {
  const { validate } = asSchema(tool.inputSchema);
  const result =
    validate === undefined ? { success: true as const, value: input } : await validate(input);
  if (result.success) return options.readonly ? result.value : thawed(result.value);
  const issues = issuesIn(result.error);
  const notes = options.unresolved.map(({ message }) => ` ${message ?? ""}`).join("");
  const hint = `${notes}${options.hint?.() ?? ""}`;
  throw new ByrefError("invalid_tool_input", `The input does not fit the tool: ${issues}${hint}`, {
    unresolved: options.unresolved,
  });
}

/**
 * Lists the issues of a validator: places and messages only. The error's own message may contain the refused
 * value, which must not be shown.
 */
function issuesIn(error: unknown): string {
  const issues = issuesOf(error).map(({ path, message }) =>
    path.length === 0 ? message : `${path.join(".")}: ${message}`,
  );
  return issues.length === 0 ? "its schema refuses it." : `${issues.join("; ")}.`;
}

/** A place that a validator refuses, and its message. */
export interface Issue {
  readonly path: readonly string[];
  readonly message: string;
}

/** Returns the first issues of a validator's error; empty if it has none. */
export function issuesOf(error: unknown): readonly Issue[] {
  const issues =
    issueListIn(error) ?? (isObject(error) ? issueListIn(error.cause) : undefined) ?? [];
  return issues.slice(0, MAX_ISSUES).flatMap((issue) => {
    if (!isObject(issue) || typeof issue.message !== "string") return [];
    // A path segment of Standard Schema is the key itself, or an object that holds it.
    const keyOf = (step: unknown) => String(isObject(step) ? step.key : step);
    const path = Array.isArray(issue.path) ? issue.path.map(keyOf) : [];
    return [{ path, message: clip(issue.message, MAX_ISSUE_CHARS) }];
  });
}

function issueListIn(error: unknown): readonly unknown[] | undefined {
  if (Array.isArray(error)) return error;
  return isObject(error) && Array.isArray(error.issues) ? error.issues : undefined;
}

/** An input that does not fit the tool's schema. */
export interface Misfit extends Resolution {
  /** The input as the model wrote it. */
  readonly written: Json;
}

const MAX_HINTS = 3;

/**
 * Says what the references of such an input are, so that a model can write the right one: which variables
 * exist, if the names are unlike all of them, and the shapes of values that it may see.
 */
export function misfitHint(
  { written, value, unresolved }: Misfit,
  { store, syntaxes }: Pick<WrapOptions, "store" | "syntaxes">,
): string {
  const isLost =
    unresolved.some(({ code }) => code === "variable_not_found") &&
    unresolved.every(({ near }) => near === undefined);
  const names = isLost ? newestNames(store) : "";
  if (!isJsonObject(written) || !isJsonObject(value)) return names;
  const picked = pickSyntaxes(syntaxes);
  const shapes = Object.entries(written).flatMap(([key, text]) => {
    const part = value[key];
    if (typeof text !== "string" || part === undefined || part === text) return [];
    const reference = wholeReference(text, picked)?.reference;
    const info = reference === undefined ? undefined : store.info(reference.name);
    if (info?.visibility !== "model" || !info.trusted || info.type === "bytes") return [];
    const shape = reference?.path.length === 0 ? info.shape : shapeOf(part);
    return [` ${text} is ${clip(shape, limits.maxListedShapeChars)}.`];
  });
  return `${names}${shapes.slice(0, MAX_HINTS).join("")}`;
}

/**
 * Returns the input with a list or object in place of a text that is its JSON, where the schema takes no text: some
 * models write each list in quotes. Parts without a change are shared. Cost: linear.
 */
export function withoutQuotes(value: Json, schema: JSONSchema7): Json {
  const unquoted = mapScalars(value, schema, (text, at) => {
    const inner = typeof text === "string" && /^\s*[[{]/u.test(text) ? jsonIn(text) : undefined;
    if (inner === undefined) return text;
    const types = typesIn(at, schema);
    if (types.has("string") || !types.has(typeOfJson(inner))) return text;
    requireJson(inner);
    return inner;
  });
  // JSON in place of a text.
  return unquoted as Json;
}

/** Returns the input with the numbers that a double does not give back as the tool takes them. */
export function withNumbers(
  value: Json,
  schema: JSONSchema7,
  numbers: ToolPolicy["numbers"],
): Json {
  if (numbers === "raw") return value;
  const convert = (number: ExactNumber, place: readonly string[]): unknown => {
    const { rawJSON } = number;
    const steps = place.map((step) => (/^\d+$/.test(step) ? Number(step) : step));
    if (numbers === "bigint" && /^-?\d+$/.test(rawJSON)) return BigInt(rawJSON);
    if (numbers === "text" || typesAt(steps, schema).has("string")) return rawJSON;
    const double = printedDouble(number);
    if (double !== undefined) return double;
    const [path, digits] = [place.join("."), clip(rawJSON, 80)];
    const message = `${path} is ${digits}, which a JavaScript number would change, and the tool takes no text there: continue without it. A developer can set numbers: "text" or "bigint" in the tool's policy.`;
    throw new ByrefError("number_not_exact", message, { path, digits });
  };
  // What a tool with BigInts takes is no JSON, and only its schema sees it.
  return mapExactNumbers(value, convert) as Json;
}

/**
 * Copies frozen objects, because stored values and the model's own words are shared. Objects that the schema
 * copied are used as they are (decision 0005). Cost: linear.
 */
function thawed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Object.isFrozen(value)) return copyJson(value);
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value;
  for (const [key, inner] of Object.entries(value)) {
    const own = thawed(inner);
    if (own !== inner) Reflect.defineProperty(value, key, { ...OWN_PROPERTY, value: own });
  }
  return value;
}

const OWN_PROPERTY = { configurable: true, enumerable: true, writable: true };

/**
 * Returns SHA-256 of the input as JSON with sorted keys, as its first 32 hexadecimal digits. A large input
 * is digested in parts, with its keys in their own order, so that its text is never in memory as a whole.
 */
export async function digestOf(input: Json): Promise<string> {
  return (await wholeDigestOf(input)).slice(0, 32);
}

/** All 64 digits. */
export async function wholeDigestOf(value: Json): Promise<string> {
  if (charsOf(value, MAX_PART_CHARS) <= MAX_PART_CHARS) return sha256(canonicalJson(value));
  // The value of a reference to bytes (`store-lookup.ts`).
  if ((value as unknown) instanceof Uint8Array) return sha256(value as unknown as Uint8Array);
  if (isExactNumber(value)) return sha256(value.rawJSON);
  let digests: string = typeOfJson(value);
  for (const part of partsOf(value)) digests += await wholeDigestOf(part);
  return sha256(digests);
}

/**
 * Splits a text or array into halves. Recursion ends: the only part of an array with one element is that
 * element.
 */
function partsOf(value: Json): readonly Json[] {
  if (isJsonObject(value)) return [Object.entries(value)];
  // No other scalar can be this large.
  const long = value as string | JsonArray;
  const middle = Math.floor(long.length / 2);
  return middle === 0 ? [...long] : [long.slice(0, middle), long.slice(middle)];
}

const MAX_PART_CHARS = 65_536;

async function sha256(content: string | Uint8Array): Promise<string> {
  const bytes =
    typeof content === "string"
      ? new TextEncoder().encode(content)
      : (content as Uint8Array<ArrayBuffer>);
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The schema of any JSON value, which passes as it is: schemas of Zod drop keys named `__proto__`. */
export const anyJson = z
  .unknown()
  .refine(isJson, "Invalid input: expected JSON") as z.ZodType<Json>;

/** The schema of any JSON object, which passes as it is. */
export const anyJsonObject = z
  .unknown()
  .refine((value) => isObject(value) && isJson(value), "Invalid input: expected an object of JSON")
  .meta({ type: "object" }) as z.ZodType<JsonObject>;

/** True for what was parsed as JSON. Throws `limit_exceeded` for JSON that is too deep. Cost: linear. */
function isJson(value: unknown): boolean {
  if (value === undefined) return false;
  requireJson(value as Json);
  return true;
}

const known = new WeakMap<object, JSONSchema7>();

/**
 * Returns the JSON Schema of a tool's input; a promise only if the tool's own is one. Computed once per schema, because
 * the computation takes longer than the rest of a turn's start. Rejects with `bad_configuration` for a schema without a
 * JSON Schema, such as that of a Date.
 */
export function jsonSchemaOf(
  { inputSchema }: Pick<ToolSet[string], "inputSchema">,
  tool: string,
): JSONSchema7 | Promise<JSONSchema7> {
  const keep = (schema: JSONSchema7) => {
    known.set(inputSchema, schema);
    return schema;
  };
  const refuse = (error: unknown) => refuseSchema(inputSchema, tool, error);
  try {
    const schema = known.get(inputSchema) ?? asSchema(inputSchema).jsonSchema;
    return typeof schema.then === "function"
      ? Promise.resolve(schema).then(keep, refuse)
      : keep(schema as JSONSchema7);
  } catch (error) {
    return refuse(error);
  }
}

async function refuseSchema(schema: object, tool: string, error: unknown): Promise<never> {
  const at = await faultyIn(schema);
  const where = at.length === 0 ? "" : ` at ${at.join(", ")}`;
  const message = `The inputSchema of the tool ${tool} has no JSON Schema${where}: ${messageOf(error)}`;
  throw new ByrefError("bad_configuration", message, { tool, at });
}

/** Returns the properties of a Zod object that have no JSON Schema. */
async function faultyIn(schema: object): Promise<readonly string[]> {
  const shape: unknown = "shape" in schema ? schema.shape : undefined;
  const faulty: string[] = [];
  for (const [name, property] of Object.entries(shape ?? {})) {
    try {
      await asSchema(property).jsonSchema;
    } catch {
      faulty.push(name);
    }
  }
  return faulty;
}

/** The tool of a variable that has what a model wrote. */
export const AUTHOR = "set_variable";

/** What a model wrote as an input, if it is long and has no reference: a variable, to be edited and sent again. */
export class KeptInput {
  readonly #tool: { readonly name: string; readonly options: WrapOptions };
  readonly #call: CallOptions;
  /** The input; undefined if it has a reference. */
  value: Json | undefined;
  /** The variable's name, once it is saved. */
  name: string | undefined;

  constructor(tool: { readonly name: string; readonly options: WrapOptions }, call: CallOptions) {
    this.#tool = tool;
    this.#call = call;
  }

  /** Saves it once. Does nothing if there is no room for it, and for an input that code or a plan wrote. */
  async save(): Promise<void> {
    const { name: tool, options } = this.#tool;
    const { store, taint, owner } = options;
    const { madeOf, isPlanned } = this.#call;
    const { value } = this;
    const isModels = madeOf === undefined && isPlanned !== true;
    if (!isModels || this.name !== undefined || value === undefined || isShort(value)) return;
    const base = automaticBase(`${tool}_input`);
    const name = { base, numbered: true, inputDigest: await digestOf(value) };
    const write = { value, name, tool: AUTHOR, ...new Labels(store, taint).ofResult(AUTHOR) };
    const info = await store.save(write).catch(() => undefined);
    if (info !== undefined && owner !== undefined) store.holds.hold(owner, info.name);
    this.name = info?.name;
  }

  /** Saves it, and says in a failure how to name it. */
  async addTo(failure: Failed): Promise<Failed> {
    await this.save();
    if (this.name === undefined) return failure;
    return { ...failure, message: `${failure.message} Its input is $${this.name}.` };
  }
}
