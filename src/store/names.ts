import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import { isDigit, isWordCode } from "../value/characters.ts";
import { isObject, type Json } from "../value/json.ts";

/** Arguments that usually say what a call is about, in order of preference. */
const ID_LIKE = ["location", "city", "name", "id", "query", "symbol", "url", "path"];
const MAX_SLUG_SOURCE_CHARS = 60;
const MAX_SLUG_CHARS = 30;
/** Leaves room for a number behind it. */
export const MAX_BASE_CHARS = limits.maxNameChars - 12;

/** Names that would read as something else in text, or mean something of their own. */
const RESERVED = new Set(
  (
    "ref schema defs id type env HOME PATH USER PWD SHELL LANG TERM this root self constructor " +
    "prototype __proto__ toString valueOf hasOwnProperty length name input state approvals"
  ).split(" "),
);

/** Throws `bad_name` unless the text is a name that a caller may choose. */
export function requireName(name: string): string {
  if (isValidName(name)) return name;
  throw new ByrefError(
    "bad_name",
    `"${name.slice(0, 80)}" is not a variable name: use 1 to ${limits.maxNameChars} letters, digits and underscores, the first not a digit.`,
  );
}

/** Letters, digits and underscores of ASCII, `maxNameChars` at most, the first not a digit. */
export function isValidName(name: string): boolean {
  if (name === "" || name.length > limits.maxNameChars || isDigit(name.charCodeAt(0))) return false;
  for (let index = 0; index < name.length; index++) {
    if (!isWordCode(name.charCodeAt(index))) return false;
  }
  return true;
}

/** Any text as an identifier: accents dropped, other characters underscores; empty if nothing is left. */
export function toIdentifier(text: string): string {
  let identifier = "";
  for (const character of text.normalize("NFKD")) {
    const code = character.codePointAt(0) ?? 0;
    if (isWordCode(code)) identifier += character;
    else if (!isCombiningMark(code) && !identifier.endsWith("_")) identifier += "_";
  }
  return trimUnderscores(identifier);
}

function isCombiningMark(code: number): boolean {
  return code >= 0x300 && code <= 0x36f;
}

function trimUnderscores(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === "_") start++;
  while (end > start && text[end - 1] === "_") end--;
  return text.slice(start, end);
}

/** `get_weather` and `{location: "NYC"}` give `get_weather_nyc`; `numbered` if no argument says more. */
export function nameForCall(tool: string, input: Json): { base: string; numbered: boolean } {
  const slug = slugOf(input);
  const base = automaticBase(slug === "" ? tool : `${toIdentifier(tool)}_${slug}`);
  return { base, numbered: slug === "" };
}

/** A text as the base of an automatic name: an identifier, prefixed where it would be misread. */
export function automaticBase(text: string): string {
  const identifier = toIdentifier(text).slice(0, MAX_BASE_CHARS);
  if (identifier === "") return "variable";
  const isMisread = RESERVED.has(identifier) || isDigit(identifier.charCodeAt(0));
  return isMisread ? `var_${identifier}` : identifier;
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

/** Longer ones are part of a name: they could not be counted on from within its length. */
const MAX_NUMBER_DIGITS = 9;
/** The greatest number that is given behind a name. */
export const MAX_NUMBER = 10 ** MAX_NUMBER_DIGITS - 1;

/** The base and number of a name that ends in one: `list_orders_12` gives `list_orders` and 12. */
export function splitNumber(name: string): { base: string; number: number } | undefined {
  let start = name.length;
  while (start > 0 && isDigit(name.charCodeAt(start - 1))) start--;
  const digits = name.length - start;
  const isNumber = digits > 0 && digits <= MAX_NUMBER_DIGITS;
  if (!isNumber || start < 2 || name[start - 1] !== "_") return undefined;
  return { base: name.slice(0, start - 1), number: Number(name.slice(start)) };
}

/** Of the names that are the base, an underscore, a number and the ending; -1 if there is none. */
export function highestNumberIn(names: Iterable<string>, base: string, ending = ""): number {
  let highest = -1;
  for (const name of names) {
    if (!name.endsWith(ending)) continue;
    const split = splitNumber(name.slice(0, name.length - ending.length));
    if (split?.base === base) highest = Math.max(highest, split.number);
  }
  return highest;
}
