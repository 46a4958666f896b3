import type { VariableInfo } from "../../../src/store/variable.ts";
import { parseShape, type Shape, type ShapeKey } from "../../../src/value/parse-shape.ts";
import { countWords, plural } from "../words.ts";

type Described = Pick<VariableInfo, "name" | "type" | "count" | "shape" | "visibility">;
type Known = Described & Pick<VariableInfo, "trusted" | "updatedAt">;

const MAX_FOLLOW_UPS = 3;

/** Suggests up to three questions that were not asked about the newest variables, from their names and fields. */
export function followUps(
  variables: Iterable<Known>,
  asked: readonly string[] = [],
): readonly string[] {
  const readable = [...variables]
    // A name from an untrusted source must not become part of the user's message.
    .filter(({ trusted, visibility }) => trusted && visibility === "model")
    .toSorted((one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt));
  const others = readable.flatMap(({ type, name }) => (type === "object" ? `Show $${name}` : []));
  const all = [...new Set([...readable.flatMap(questionsAbout), ...others])];
  return all.filter((question) => !asked.includes(question)).slice(0, MAX_FOLLOW_UPS);
}

/** Returns questions about an array of records with a numeric field. */
function questionsAbout(info: Known): readonly string[] {
  const fields = fieldsOf(info).filter(({ key }) => PLAIN_KEY.test(key));
  const figures = fields.filter((field) => isNumeric(field) && !IDS.test(field.key));
  const figure = figures.find(({ key }) => FIGURES.test(key)) ?? figures[0];
  if (figure === undefined) return [];
  return ["highest", "lowest"].map((one) => `What is the ${one} ${figure.key} in $${info.name}?`);
}

/** Matches keys that read like a word. */
const PLAIN_KEY = /^[A-Za-z]\w{0,31}$/;
const FIGURES = /total|amount|price|revenue|cost|value|bytes|size|score/i;
const IDS = /^(?:id|year|index)$|_id$|Id$/;

/** True if the variable is an array of records with a numeric field. Needs no value. */
export function isDrawable(info: Omit<Described, "name">): boolean {
  return info.visibility !== "secret" && fieldsOf(info).some(isNumeric);
}

function fieldsOf({ type, count, shape }: Omit<Described, "name">): readonly ShapeKey[] {
  if (type !== "array" || count < 2) return [];
  const [kind] = onlyOf(parseShape(shape));
  const [record] = onlyOf(typeof kind === "object" && "elements" in kind ? kind.elements : []);
  return typeof record === "object" && "keys" in record ? record.keys : [];
}

/** Says how large a variable is: of records also how many columns they have. */
export function sizeWords(info: Described & Pick<VariableInfo, "mediaType">): string {
  const columns = fieldsOf(info).length;
  return columns === 0
    ? countWords(info)
    : `${plural(info.count, "row")} × ${plural(columns, "column")}`;
}

function onlyOf(shape: Shape): Shape {
  return shape.length === 1 ? shape : [];
}

/** True for a field of numbers, which may be missing or null. */
function isNumeric({ shape }: ShapeKey): boolean {
  const kinds = shape.filter((kind) => kind !== "null");
  return kinds.length === 1 && kinds[0] === "number";
}
