import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import { isDigit } from "../value/characters.ts";
import { isObject, type Json } from "../value/json.ts";

/** Arguments that usually identify the subject of a call, in order of preference. */
const ID_LIKE = ["location", "city", "name", "id", "query", "symbol", "url", "path"];
const MAX_SLUG_SOURCE_CHARS = 60;
const MAX_SLUG_CHARS = 30;
/** Length of a base name. Leaves room for a number suffix. */
export const MAX_BASE_CHARS = limits.maxNameChars - 12;

/** Names that are ambiguous in text, or have a special meaning. */
const RESERVED = new Set(
  (
    "ref schema defs id type env HOME PATH USER PWD SHELL LANG TERM this root self constructor " +
    "prototype __proto__ toString valueOf hasOwnProperty length name input state approvals"
  ).split(" "),
);

/** Returns the name. Throws `bad_name` unless it is a valid variable name. */
export function requireName(name: string): string {
  if (isValidName(name)) return name;
  throw new ByrefError(
    "bad_name",
    `"${name.slice(0, 80)}" is not a variable name: use 1 to ${limits.maxNameChars} letters, digits and underscores, the first not a digit.`,
  );
}

/** The error for a change of a computed variable. */
export function readOnly(name: string): ByrefError {
  const message = `$${name} is read-only. Write a variable of another name.`;
  return new ByrefError("bad_name", message);
}

/** True for 1 to `maxNameChars` ASCII letters, digits and underscores, the first not a digit. */
export function isValidName(name: string): boolean {
  return name.length <= limits.maxNameChars && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}

/** Converts any text to an identifier: removes accents and replaces other characters by underscores. May be empty. */
export function toIdentifier(text: string): string {
  const plain = text.normalize("NFKD").replaceAll(/[\u0300-\u036f]/g, "");
  return trimUnderscores(plain.replaceAll(/_?\W+/g, "_"));
}

/** Removes underscores at both ends. Cost: linear. */
export function trimUnderscores(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === "_") start++;
  while (end > start && text[end - 1] === "_") end--;
  return text.slice(start, end);
}

/**
 * Derives a name from a call: `get_weather` and `{location: "NYC"}` give `get_weather_nyc`. `numbered` if
 * no argument identifies the call.
 */
export function nameForCall(tool: string, input: Json): { base: string; numbered: boolean } {
  const slug = slugOf(input);
  const base = automaticBase(slug === "" ? tool : `${toIdentifier(tool)}_${slug}`);
  return { base, numbered: slug === "" };
}

/** Converts a text to the base of an automatic name: an identifier, with a prefix if it would be ambiguous. */
export function automaticBase(text: string): string {
  const identifier = toIdentifier(text).slice(0, MAX_BASE_CHARS);
  if (identifier === "") return "variable";
  const isAmbiguous = RESERVED.has(identifier) || isDigit(identifier.charCodeAt(0));
  return isAmbiguous ? `var_${identifier}` : identifier;
}

function slugOf(input: Json): string {
  if (!isObject(input)) return "";
  for (const key of ID_LIKE) {
    const slug = Object.hasOwn(input, key) ? slugOfArgument(input[key]) : "";
    if (slug !== "") return slug;
  }
  for (const value of Object.values(input)) {
    const slug = typeof value === "string" ? slugOfArgument(value) : "";
    if (slug !== "") return slug;
  }
  return "";
}

function slugOfArgument(value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number") return "";
  const text = String(value);
  if (text.length > MAX_SLUG_SOURCE_CHARS) return "";
  return trimUnderscores(toIdentifier(text.toLowerCase()).slice(0, MAX_SLUG_CHARS));
}

/**
 * Splits a name with a number suffix: `list_orders_12` gives `list_orders` and 12. More than nine digits are part of
 * the name, because greater numbers might not fit into it.
 */
export function splitNumber(name: string): { base: string; number: number } | undefined {
  const [, base, number] = /^(.+)_(\d{1,9})$/.exec(name) ?? [];
  return base === undefined ? undefined : { base, number: Number(number) };
}

/**
 * Returns the highest number of the names that consist of the base, an underscore, a number and the ending;
 * -1 if none.
 */
export function highestNumberIn(names: Iterable<string>, base: string, ending = ""): number {
  let highest = -1;
  for (const name of names) {
    if (!name.endsWith(ending)) continue;
    const split = splitNumber(name.slice(0, name.length - ending.length));
    if (split?.base === base) highest = Math.max(highest, split.number);
  }
  return highest;
}
