import * as limits from "../../limits.ts";
import { ByrefError, requireAtMost } from "../../errors.ts";
import { parsePath } from "../../reference/grammar.ts";
import { clip } from "../../value/characters.ts";
import {
  canonicalJson,
  isJsonArray,
  isJsonObject,
  isScalar,
  type Json,
  type JsonObject,
} from "../../value/json.ts";
import { finderOf } from "../../value/find-text.ts";
import { type Path, readPath } from "../../value/path.ts";
import { Work } from "../../value/work.ts";

/** The element itself, where elements are no objects. */
const ELEMENT = "$";
const MAX_FIELD_CHARS = 80;

/** Does a field's value, undefined if it is missing, meet a condition? */
type Test = (value: Json | undefined, work: Work) => boolean;

/**
 * True for elements that meet all conditions. Which are operators is read in what was written, what they
 * compare with in the same with its references resolved: a value is never taken for a condition. Throws
 * `invalid_tool_input`; the filter throws `limit_exceeded` after `maxReadWork` of comparing.
 */
export function elementFilter(
  written: JsonObject,
  resolved: JsonObject,
): (element: Json) => boolean {
  const work = new Work();
  const fields = Object.entries(written);
  if (fields.length > limits.maxFilterConditions) {
    throw wrong("where", `has ${fields.length} fields, and may have ${limits.maxFilterConditions}`);
  }
  const conditions = fields.map(([field, condition]) => ({
    path: fieldPath(field),
    tests: testsIn(condition, resolved[field] ?? null, placeOf(field)),
  }));
  return (element) =>
    conditions.every(({ path, tests }) => {
      work.spend(CONDITION);
      const reading = readPath(element, path, work);
      const value = reading.found ? reading.value : undefined;
      return tests.every((test) => test(value, work));
    });
}

/** A key that could be no path is taken as it stands, `order-id` or `first name`. */
function fieldPath(field: string): Path {
  if (field === ELEMENT) return [];
  const isRooted = field.startsWith(`${ELEMENT}.`) || field.startsWith(`${ELEMENT}[`);
  const below = isRooted ? field.slice(ELEMENT.length) : field;
  const path = parsePath(/^[.[]/.test(below) ? below : `.${below}`);
  if (path !== undefined) return path;
  if (/^[^.[\]]+$/.test(field)) return [{ key: field }];
  throw wrong(placeOf(field), 'is no field; write e.g. status, address.city, ["a.key"], or $');
}

function testsIn(written: Json, resolved: Json, place: string): readonly Test[] {
  if (isScalar(written)) return [sameAs(resolved)];
  if (isJsonArray(written)) throw wrong(place, "is an array; write {in: […]} for one of several");
  const operands = isJsonObject(resolved) ? resolved : {};
  const names = Object.keys(written);
  if (names.length === 0) throw wrong(place, `has no operator; ${KNOWN}`);
  return names.map((name) => {
    const operator = operators.get(name);
    if (operator === undefined) {
      throw wrong(`${place}.${clip(name, MAX_FIELD_CHARS)}`, `is no operator; ${KNOWN}`);
    }
    return operator(operands[name] ?? null, `${place}.${name}`);
  });
}

const operators: ReadonlyMap<string, (operand: Json, place: string) => Test> = new Map([
  ["eq", sameAs],
  ["ne", (operand) => not(sameAs(operand))],
  ["gt", ordered((order) => order > 0)],
  ["gte", ordered((order) => order >= 0)],
  ["lt", ordered((order) => order < 0)],
  ["lte", ordered((order) => order <= 0)],
  ["in", oneOf],
  ["contains", holding],
  ["exists", existing],
]);

const KNOWN = `use ${[...operators.keys()].join(", ")}`;

/** Typed, and deep. What is missing counts as null: JSON often leaves out what is not set. */
function sameAs(operand: Json): Test {
  if (isScalar(operand)) {
    return (value = null, work) => {
      spendOnTexts(value, operand, work);
      return value === operand;
    };
  }
  const text = canonicalJson(operand);
  return (value = null, work) => !isScalar(value) && countedJson(value, work) === text;
}

/** A deep comparison costs the text that it writes, for each condition. */
function countedJson(value: Json, work: Work): string {
  const text = canonicalJson(value);
  work.spend(COMPARISON + text.length);
  return text;
}

/** Two texts that begin alike are compared to the end of the shorter one. */
function spendOnTexts(value: Json, operand: Json, work: Work): void {
  if (typeof value !== "string" || typeof operand !== "string") return;
  work.spend(Math.min(value.length, operand.length));
}

/** Looking at an element takes about as long as reading so many characters. */
const CONDITION = 5;
/** A deep comparison takes at least as long as reading so many characters. */
const COMPARISON = 100;

function not(test: Test): Test {
  return (value, work) => !test(value, work);
}

/** Numbers among themselves, and texts by their characters, so that ISO dates are in order. */
function ordered(holds: (order: number) => boolean): (operand: Json, place: string) => Test {
  return (operand, place) => {
    if (typeof operand !== "number" && typeof operand !== "string") {
      throw wrong(place, "must be a number or a text");
    }
    return (value, work) => {
      if (typeof value !== "number" && typeof value !== "string") return false;
      if (typeof value !== typeof operand) return false;
      spendOnTexts(value, operand, work);
      return holds(value < operand ? -1 : Number(value > operand));
    };
  };
}

/** Looked up: a list may be as long as what is filtered. */
function oneOf(operand: Json, place: string): Test {
  if (isScalar(operand) || !isJsonArray(operand)) throw wrong(place, "must be an array");
  const scalars = new Set(operand.filter(isScalar));
  const texts = new Set(operand.flatMap((value) => (isScalar(value) ? [] : canonicalJson(value))));
  return (value = null, work) => {
    if (isScalar(value)) return scalars.has(value);
    return texts.size > 0 && texts.has(countedJson(value, work));
  };
}

/** A piece of a text, or an element of an array. */
function holding(operand: Json): Test {
  const isSame = sameAs(operand);
  const isPiece = typeof operand === "string" ? pieceIn(operand) : () => false;
  return (value, work) => {
    if (typeof value === "string") {
      work.spend(value.length);
      return isPiece(value);
    }
    if (value === undefined || isScalar(value) || !isJsonArray(value)) return false;
    work.spend(value.length);
    return value.some((element) => isSame(element, work));
  };
}

/** Made when the first text is compared: an element of an array may be longer. */
function pieceIn(piece: string): (text: string) => boolean {
  let find: ((text: string) => boolean) | undefined;
  return (text) => {
    if (piece.length > text.length) return false;
    const advice = "Look for a shorter piece, or compare with eq.";
    requireAtMost(["maxPieceChars", limits.maxPieceChars], piece.length, advice);
    find ??= finderOf(piece);
    return find(text);
  };
}

function existing(operand: Json, place: string): Test {
  if (typeof operand !== "boolean") throw wrong(place, "must be true or false");
  return (value) => (value !== undefined) === operand;
}

function placeOf(field: string): string {
  return `where.${clip(field, MAX_FIELD_CHARS)}`;
}

function wrong(place: string, what: string): ByrefError {
  return new ByrefError("invalid_tool_input", `${place} ${what}.`);
}
