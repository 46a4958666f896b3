import {
  type Figure,
  json,
  pickSyntaxes,
  Scanner,
  type Syntaxes,
  referenceTexts,
} from "../../../../src/internal.ts";
import { formatPath, type Json, type Path, type Reference } from "../../../../src/references.ts";

/**
 * A place that a plan refers to: `state.orders`, `input.sales`. Undefined for text that is no reference. A backslash
 * before an escaped reference is removed if it has a place.
 */
export type PlaceOf = (
  reference: Reference,
  source: string,
  isEscaped?: boolean,
) => Reference | undefined;

interface Rewriting {
  /** The syntaxes of the references as they were written. */
  readonly syntaxes: Syntaxes;
  readonly placeOf: PlaceOf;
  /** False for answers, in whose code nothing is a reference. Default: true. */
  readonly inCode?: boolean;
  /** Returns ranges of the text that are replaced too, given those of its references. */
  readonly figuresIn?: (text: string, covered: readonly Range[]) => readonly PlacedFigure[];
  /** Called for a reference that cannot be written where it is. */
  readonly onUnwritable: (source: string) => void;
}

interface PlacedFigure extends Figure {
  readonly place: Reference;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** A range of a text, and what a plan has there. */
interface Replacement extends Range {
  readonly by: string | Reference;
}

/** Writes the references in the strings of a value as those of a JSON plan: `$orders[0]` → `†state.orders[0]`. */
export function rewriteValue(value: Json, rewriting: Rewriting): Json {
  if (typeof value === "string") return rewriteText(value, rewriting);
  if (json.isJsonArray(value)) return value.map((inner) => rewriteValue(inner, rewriting));
  if (!json.isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, rewriteValue(inner, rewriting)]),
  );
}

export function rewriteText(text: string, rewriting: Rewriting): string {
  const found = replacementsIn(text, rewriting);
  const figures = rewriting.figuresIn?.(text, found) ?? [];
  const all = [...found, ...figures.map(({ start, end, place }) => ({ start, end, by: place }))];
  // From the end, because the text after a reference decides how it is written.
  const pieces: string[] = [];
  let next = "";
  const add = (piece: string) => {
    pieces.push(piece);
    next = (piece.slice(0, LOOKAHEAD_CHARS) + next).slice(0, LOOKAHEAD_CHARS);
  };
  let from = text.length;
  for (const { start, end, by } of all.toSorted((one, other) => other.start - one.start)) {
    add(text.slice(end, from));
    add(typeof by === "string" ? by : referenceBefore(by, next));
    if (typeof by !== "string" && !isFirstIn(next, by)) {
      rewriting.onUnwritable(text.slice(start, end));
    }
    from = start;
  }
  const whole = text.slice(0, from) + pieces.toReversed().join("");
  const wasJoined = rewriting.syntaxes.includes("dagger") && isJoined(text);
  if (isJoined(whole) && !wasJoined) rewriting.onUnwritable(text);
  return whole;
}

function replacementsIn(
  text: string,
  { syntaxes, placeOf, inCode = true }: Rewriting,
): readonly Replacement[] {
  const isDaggerRead = syntaxes.includes("dagger");
  const scanner = new Scanner({
    syntaxes: pickSyntaxes(isDaggerRead ? syntaxes : [...syntaxes, "dagger"]),
    inCode,
  });
  scanner.feed(text);
  scanner.end();
  const found: Replacement[] = [];
  let at = 0;
  for (let piece = scanner.next(); piece !== undefined; piece = scanner.next()) {
    if (typeof piece === "string") {
      at += piece.length;
      continue;
    }
    scanner.accept();
    const { source, reference, escaped } = piece;
    const start = at;
    at += source.length + (escaped ? 1 : 0);
    const isDagger = source.startsWith("†");
    const place = isDagger && !isDaggerRead ? undefined : placeOf(reference, source, escaped);
    if (isDagger && (place === undefined || escaped)) {
      found.push({ start, end: at, by: `\\${source}` });
    } else if (place !== undefined) found.push({ start, end: at, by: escaped ? source : place });
  }
  return found;
}

/** Writes `†state["a"]` if what follows would become a part of `†state.a`. */
function referenceBefore(place: Reference, rest: string): string {
  const plain = referenceTo(place);
  const last = place.path.at(-1);
  if (isFirstIn(plain + rest, place) || last === undefined || !("key" in last)) return plain;
  const above = { ...place, path: place.path.slice(0, -1) };
  return `${referenceTo(above)}[${JSON.stringify(last.key)}]`;
}

/** Longer than what decides about a reference. */
const LOOKAHEAD_CHARS = 1_000;

function isFirstIn(text: string, { name, path }: Reference): boolean {
  const match = dagger?.match(referenceTexts.wholeView(text, 0));
  if (match?.kind !== "whole") return false;
  const { reference } = match;
  return reference.name === name && formatPath(reference.path) === formatPath(path);
}

/** True for references that are read as one: `†a || †b`. */
function isJoined(text: string): boolean {
  return dagger?.alternatives?.(text) !== undefined;
}

const [dagger] = pickSyntaxes(["dagger"]);

/** Writes a reference of a JSON plan. */
export function referenceTo({ name, path }: Reference): string {
  return `†${name}${formatPath(path)}`;
}

/** A place and a path below it. */
export function below({ name, path }: Reference, more: Path): Reference {
  return { name, path: [...path, ...more] };
}
