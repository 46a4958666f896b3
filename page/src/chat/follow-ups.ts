import type { VariableInfo } from "../../../src/store/variable.ts";
import { parseShape, type Shape, type ShapeKey } from "../../../src/value/parse-shape.ts";

type Known = Pick<
  VariableInfo,
  "name" | "type" | "count" | "shape" | "trusted" | "visibility" | "updatedAt"
>;

const MAX_FOLLOW_UPS = 2;

/** Suggests two questions about the newest variables, from their names and fields, without a model. */
export function followUps(variables: Iterable<Known>): readonly string[] {
  const readable = [...variables]
    // A name from an untrusted source must not become part of the user's message.
    .filter(({ trusted, visibility }) => trusted && visibility === "model")
    .toSorted((one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt));
  const tables = readable.flatMap((info) => questionsAbout(info));
  const others = readable
    .filter(({ type }) => type === "object")
    .map(({ name }) => `Show $${name}`);
  return [...new Set([...tables, ...others])].slice(0, MAX_FOLLOW_UPS);
}

/** Suggests questions about an array of records with a numeric field. */
function questionsAbout({ name, type, count, shape }: Known): readonly string[] {
  if (type !== "array" || count < 2) return [];
  const fields = fieldsIn(parseShape(shape)).filter(({ key }) => PLAIN_KEY.test(key));
  const figure = best(
    fields.filter((field) => isOf(field, "number")),
    FIGURES,
  );
  if (figure === undefined) return [];
  const group = fields.find((field) => isOf(field, "string") && GROUPS.test(field.key));
  return group === undefined
    ? [`What is the highest ${figure.key} in $${name}?`]
    : [`What is the average ${figure.key} by ${group.key} in $${name}?`];
}

/** Matches keys that read like a word. */
const PLAIN_KEY = /^[A-Za-z]\w{0,31}$/;
/** Usual names of fields with few distinct values. */
const GROUPS =
  /^(?:country|city|region|state|status|type|kind|category|group|class|level|priority|team|department)$/i;
const FIGURES = /total|amount|price|revenue|cost|value|bytes|size|score/i;
const IDS = /^(?:id|year|index)$|_id$|Id$/;

function best(fields: readonly ShapeKey[], preferred: RegExp): ShapeKey | undefined {
  const figures = fields.filter(({ key }) => !IDS.test(key));
  return figures.find(({ key }) => preferred.test(key)) ?? figures[0];
}

function fieldsIn(shape: Shape): readonly ShapeKey[] {
  const [kind] = shape;
  if (typeof kind !== "object" || shape.length > 1) return [];
  return "keys" in kind ? kind.keys : fieldsIn(kind.elements);
}

function isOf({ shape }: ShapeKey, type: "string" | "number"): boolean {
  return shape.length === 1 && shape[0] === type;
}
