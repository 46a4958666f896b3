import type { VariableInfo } from "../../../src/store/variable.ts";

/** Matches a field of numbers, which may be missing or null. */
const NUMBERS = /: (?:null \| )?number(?: \| null)?(?:,|$)/;

/** True if the variable's shape is an array of records with a numeric field. Needs no value. */
export function isDrawable({
  type,
  count,
  shape,
  visibility,
}: Pick<VariableInfo, "type" | "count" | "shape" | "visibility">): boolean {
  const isHidden = visibility === "secret";
  if (isHidden || type !== "array" || count < 2 || !/^\{.*\}\[\]$/.test(shape)) return false;
  let fields = shape.slice(1, -3);
  // Nested fields are no columns.
  for (let inner = ""; inner !== fields;) {
    inner = fields;
    fields = inner.replaceAll(/\{[^{}]*\}/g, "…");
  }
  return NUMBERS.test(fields);
}
