import * as limits from "../../limits.ts";
import { ByrefError, limitExceeded, requireAtMost } from "../../errors.ts";
import { parsePath } from "../../reference/grammar.ts";
import { clip } from "../../value/characters.ts";
import {
  canonicalJson,
  compact,
  isJsonArray,
  isJsonObject,
  isScalar,
  type Json,
  type JsonObject,
} from "../../value/json.ts";
import { finderOf } from "../../value/find-text.ts";
import { type Path, readPath } from "../../value/path.ts";
import { Work } from "../../value/work.ts";
import * as z from "zod";
import type { Variables } from "../../store/variable-store.ts";
import { charsOf, runtimeTool, type RuntimeToolContext } from "../runtime-tool.ts";
import { requireWritable, savingGuarded } from "./set-variable.ts";
import { childrenOf, partAt, type Sequence } from "./sequence.ts";
import { outputJson, toolOutput } from "../tool-output.ts";
import { readable, referenceTo, type Target, targetIn } from "./variable-target.ts";

const NAME = "filter_variable";

const inputSchema = z.object({
  name: z.string(),
  path: z.string().optional(),
  where: z
    .looseObject({})
    .describe(
      'Field path ("$": the element) → value, or {eq, ne, gt, gte, lt, lte, in, contains, exists}',
    ),
  saveAs: z.string(),
});

/**
 * Saves the matching elements of an array as a variable, in their order. Refuses guarded values, because the
 * number of matches for a condition of the model's choice would reveal them.
 */
export const filterVariable = runtimeTool({
  name: NAME,
  description: "Keep the elements of an array that meet all conditions, as a variable.",
  inputSchema,
  async execute({ name, path, where, saveAs }, context) {
    const { store, labels, call, hidesUntrusted } = context;
    const target = targetIn(name, path);
    const saved = savedName(context, saveAs);
    readable(store, target.name);
    labels.add(target.name);
    // A model's input is JSON. The resolved input has the same keys.
    const written = where as JsonObject;
    const { value: resolved, unresolved } = await context.resolve(written).finally(() => {
      // Takes precedence over any other error.
      if (!labels.isGuarded) return;
      throw new ByrefError(
        "variable_sealed",
        "A filter cannot compare with a sealed or secret value.",
      );
    });
    const meets = elementFilter(written, resolved as JsonObject);
    const value = await matchingElements(await arrayAt(store, target), meets, call.signal);
    const labelled = labels.ofResult(NAME);
    const write = {
      name: saved,
      value,
      toolCallId: call.toolCallId,
      ...labelled,
      // A call that replaces its own source cannot be repeated to restore the result.
      ...(saved === target.name
        ? {}
        : { tool: NAME, input: compact({ name, where: written, saveAs, path }) }),
    };
    const isShown = labelled.visibility === "model" && !hidesUntrusted;
    return {
      output: savingGuarded(context, write, (info) =>
        outputJson(toolOutput(info, value, { unresolved, hidesUntrusted })),
      ),
      // If the call has a place for its result, the matching elements are saved there, too.
      value,
      untrusted: isShown && !labelled.trusted,
    };
  },
});

/** Throws if the name cannot be written. */
function savedName(context: RuntimeToolContext, written: string): string {
  const { name, path } = targetIn(written);
  if (path.length > 0) {
    throw new ByrefError("bad_path", "saveAs is a variable's name, without a path behind it.");
  }
  requireWritable(context, { name });
  return name;
}

async function arrayAt(store: Variables, target: Target): Promise<Sequence> {
  const part = await partAt(store, target);
  if (!("sequence" in part) || part.sequence.type !== "array") {
    const message = `${referenceTo(target)} is no array; say with path where in it one is.`;
    throw new ByrefError("bad_value", message);
  }
  const { count, averageChars } = part.sequence;
  const actual = Math.ceil(count * averageChars);
  if (actual > limits.maxFilteredChars) {
    const most = Math.floor(limits.maxFilteredChars / averageChars);
    const advice = `Filter it in parts, the first with path [0:${most}].`;
    throw limitExceeded("maxFilteredChars", { maximum: limits.maxFilteredChars, actual, advice });
  }
  return part.sequence;
}

/** Keeps at most as many elements in memory as a value may have. */
async function matchingElements(
  sequence: Sequence,
  meets: (element: Json) => boolean,
  signal: AbortSignal,
): Promise<readonly Json[]> {
  const kept: Json[] = [];
  let chars = 0;
  for await (const { value } of childrenOf({ sequence })) {
    if (signal.aborted) throw new ByrefError("tool_failed", `${NAME} was stopped.`);
    if (!meets(value)) continue;
    kept.push(value);
    chars += charsOf(value) + 1;
    if (chars > limits.maxJsonBytes) {
      const advice = "Filter for less, or a slice such as path [0:1000].";
      throw limitExceeded("maxJsonBytes", {
        maximum: limits.maxJsonBytes,
        actual: chars,
        advice,
      });
    }
  }
  return kept;
}

/** Stands for the element itself if the elements are not objects. */
const ELEMENT = "$";
const MAX_FIELD_CHARS = 80;

/** Tests a field's value, which is undefined if the field is missing. */
type Test = (value: Json | undefined, work: Work) => boolean;

/**
 * Returns a filter for elements that meet all conditions. Operators are read from the written input only,
 * and operands from the resolved input, so a value is never interpreted as a condition. Throws
 * `invalid_tool_input`; the filter throws `limit_exceeded` after `maxReadWork` of comparing.
 */
function elementFilter(written: JsonObject, resolved: JsonObject): (element: Json) => boolean {
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

/** A key that is not a valid path is used literally, such as `order-id` or `first name`. */
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
  ["contains", containing],
  ["exists", presence],
]);

const KNOWN = `use ${[...operators.keys()].join(", ")}`;

/**
 * Compares types and nested values. A missing field counts as null, because JSON often omits unset fields.
 */
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

/** A deep comparison costs the length of the JSON text that it builds, for each condition. */
function countedJson(value: Json, work: Work): string {
  const text = canonicalJson(value);
  work.spend(COMPARISON + text.length);
  return text;
}

/** Two texts with the same start are compared to the end of the shorter one. */
function spendOnTexts(value: Json, operand: Json, work: Work): void {
  if (typeof value !== "string" || typeof operand !== "string") return;
  work.spend(Math.min(value.length, operand.length));
}

/** Cost of a test of one element, in characters read. */
const CONDITION = 5;
/** Minimum cost of a deep comparison, in characters read. */
const COMPARISON = 100;

function not(test: Test): Test {
  return (value, work) => !test(value, work);
}

/** Orders numbers by value, and texts by their characters, so that ISO dates are in order. */
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

/** Uses a lookup, because the list may be as long as the filtered array. */
function oneOf(operand: Json, place: string): Test {
  if (isScalar(operand) || !isJsonArray(operand)) throw wrong(place, "must be an array");
  const scalars = new Set(operand.filter(isScalar));
  const texts = new Set(operand.flatMap((value) => (isScalar(value) ? [] : canonicalJson(value))));
  return (value = null, work) => {
    if (isScalar(value)) return scalars.has(value);
    return texts.size > 0 && texts.has(countedJson(value, work));
  };
}

/** Tests for a substring of a text, or for an element of an array. */
function containing(operand: Json): Test {
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

/** Built when the first text is compared, because an element of an array may be longer. */
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

function presence(operand: Json, place: string): Test {
  if (typeof operand !== "boolean") throw wrong(place, "must be true or false");
  return (value) => (value !== undefined) === operand;
}

function placeOf(field: string): string {
  return `where.${clip(field, MAX_FIELD_CHARS)}`;
}

function wrong(place: string, what: string): ByrefError {
  return new ByrefError("invalid_tool_input", `${place} ${what}.`);
}
