import { dagger, dollar, target } from "../reference/syntaxes.ts";
import { compact, isObject, type Json } from "../value/json.ts";
import type { JSONSchema7 } from "ai";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import { type Reference, type Syntax, wholeReference } from "../reference/reference.ts";
import { readOnly } from "../store/names.ts";
import type { Variables } from "../store/variable-store.ts";
import { formatPath } from "../value/path.ts";

/** The input parameter for the place of a result. The runtime removes it before the tool runs. */
export const OUTPUT_PATH = "_outputPath";
const DESCRIPTION = "_description";

/** Target of a result: one place, one of several, or all of several. */
export interface SaveTarget {
  readonly operator: "first" | "all";
  readonly places: readonly Place[];
}

export interface Place extends Reference {
  readonly source: string;
  /** The run that the variable ends with. */
  readonly run?: string;
}

const syntaxes: readonly Syntax[] = [dollar, dagger, target];

const MAX_SHOWN_CHARS = 80;

/**
 * Throws `variable_secret` or `bad_name` if a place cannot be written, or belongs to a run other than `own`.
 */
export function requireOpen({ places }: SaveTarget, store: Variables, own?: string): void {
  for (const { name } of places) {
    const { visibility, run, readOnly: isReadOnly } = store.glance(name) ?? {};
    if (isReadOnly === true) throw readOnly(name);
    if (run !== undefined && run !== own) throw takenName(name);
    // A run may add to its own secret variable, which stays secret.
    if (visibility !== "secret" || run !== undefined) continue;
    throw new ByrefError("variable_secret", `$${name} is secret and cannot be written here.`);
  }
}

/**
 * A model can replace a guarded variable, but not write into it: the error of a place that does not fit names
 * what is there. A plan's own places are not chosen by a model. Throws `variable_sealed`.
 */
export function requireReplaced(
  places: readonly Place[] = [],
  { isPlanned, saveTo }: { readonly isPlanned?: true; readonly saveTo?: SaveTarget },
  store: Variables,
): void {
  if (isPlanned === true) return;
  for (const place of places) {
    const { name, path, run } = place;
    const isOfPlan = run !== undefined && saveTo?.places.includes(place) === true;
    if (path.length === 0 || isOfPlan) continue;
    if (isGuarded(name, store)) throw notExtended(name);
  }
}

/** True for a sealed or secret variable. */
export function isGuarded(name: string, store: Variables): boolean {
  return (store.glance(name)?.visibility ?? "model") !== "model";
}

export function notExtended(name: string): ByrefError {
  const message = `$${name} is guarded: it can be replaced as a whole, not added to.`;
  return new ByrefError("variable_sealed", message);
}

/**
 * A secret that shares a variable with other results of a run would make them secret, too, whichever came
 * first. Throws `variable_secret`.
 */
export function requireOwnPlaces(target: SaveTarget | undefined): void {
  const shared = target?.places.find(({ path, run }) => run !== undefined && path.length > 0);
  if (shared === undefined) return;
  const message = `A secret result is saved as a variable of its own: †name, not ${shared.source}.`;
  throw new ByrefError("variable_secret", message);
}

/** The error for a name that only its run may write. */
export function takenName(name: string): ByrefError {
  return new ByrefError("bad_name", `$${name} cannot be written here; choose another name.`);
}

/**
 * Parses `$report`, `†state.user.summary` or `variable:report`. `a || b` means one of them, `a && b` all of
 * them. Throws `bad_path`, whose message writes places with `prefix`, `bad_alternatives`, or `bad_name` for
 * a name that cannot be written at all.
 */
export function saveTargetIn(text: string, prefix = "$"): SaveTarget {
  const operators = new Set(text.match(/\|\||&&/g));
  if (operators.size > 1) {
    throw new ByrefError("bad_alternatives", `${text} mixes || and &&; use one of them.`);
  }
  const places = text.split(/\|\||&&/).map((part) => placeIn(part.trim(), prefix));
  const own = places.find(({ name }) => name === "input");
  if (own !== undefined)
    throw new ByrefError("bad_name", `${own.source} is the caller's input; choose another name.`);
  const operator = operators.has("||") ? "first" : "all";
  return { operator, places };
}

function placeIn(text: string, prefix: string): Place {
  const place = placeOf(text);
  if (place !== undefined) return place;
  // If only the prefix is missing, the advice includes it.
  const lacksPrefix = text.length <= MAX_SHOWN_CHARS && placeOf(prefix + text) !== undefined;
  const advice = lacksPrefix ? prefix + text : `${prefix}name or ${prefix}name.key`;
  const message = `"${text.slice(0, MAX_SHOWN_CHARS)}" is not a place to save to. Write ${advice}.`;
  throw new ByrefError("bad_path", message);
}

function placeOf(text: string): Place | undefined {
  const whole = wholeReference(text, syntaxes);
  const isPlace = whole?.reference.path.every((step) => "key" in step || "index" in step);
  return whole && isPlace === true ? { ...whole.reference, source: text } : undefined;
}

/** Returns the places to write: for `||`, the one that the tool names in any spelling, or the first. */
export function chosenPlaces({ operator, places }: SaveTarget, named?: string): readonly Place[] {
  if (operator === "all") return places;
  const key = placeKey((named ?? places[0]?.source ?? "").trim());
  const chosen = places.find(({ source }) => placeKey(source) === key);
  if (chosen !== undefined) return [chosen];
  const known = places.map(({ source }) => source).join(", ");
  throw new ByrefError("bad_path", `The tool chose ${named ?? "nothing"}, not one of ${known}.`);
}

/** Returns the same key for all spellings of a place: `$state.a` and `†state["a"]`. */
function placeKey(text: string): string | undefined {
  const place = placeOf(text);
  return place && place.name + formatPath(place.path);
}

/** Reads a tool's choice of its place from a result `{_outputPath, value}`. */
export function choiceIn(result: unknown): {
  readonly named?: string | undefined;
  readonly value: unknown;
} {
  if (!isObject(result) || Object.keys(result).length !== 2 || !("value" in result)) {
    return { value: result };
  }
  const named = result[OUTPUT_PATH];
  return typeof named === "string" ? { named, value: result.value } : { value: result };
}

/**
 * Adds the two parameters to the schema. Returns undefined if the tool has a parameter of the same name, or
 * takes no object.
 */
export function withTarget(schema: JSONSchema7, isStrict: boolean): JSONSchema7 | undefined {
  const { properties = {}, required = [] } = schema;
  if (schema.type !== "object" || OUTPUT_PATH in properties || DESCRIPTION in properties) {
    return undefined;
  }
  const type: JSONSchema7["type"] = isStrict ? ["string", "null"] : "string";
  const added: Record<string, JSONSchema7> = {
    [OUTPUT_PATH]: { type, description: "save the result as, e.g. $report or $state.user" },
    [DESCRIPTION]: { type, description: "what the saved result is" },
  };
  return {
    ...schema,
    properties: { ...properties, ...added },
    ...(isStrict ? { required: [...required, OUTPUT_PATH, DESCRIPTION] } : {}),
  };
}

export interface Split {
  readonly input: Json;
  readonly target?: string;
  readonly description?: string;
}

/** Removes the two parameters from the input. Throws `bad_path` if they are not texts. */
export function splitInput(given: Json): Split {
  if (!isObject(given)) return { input: given };
  const { [OUTPUT_PATH]: target, [DESCRIPTION]: description, ...rest } = given;
  const texts = {
    target: textOf(target, OUTPUT_PATH),
    description: textOf(description, DESCRIPTION)?.slice(0, limits.maxDescriptionChars),
  };
  return { input: rest, ...compact(texts) };
}

function textOf(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new ByrefError("bad_path", `${name} must be text.`);
}
