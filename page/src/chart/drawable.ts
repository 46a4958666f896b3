import type { VariableInfo } from "../../../src/store/variable.ts";

/** A field of numbers; some records may lack it. */
const NUMBERS = /: (?:null \| )?number(?: \| null)?(?:,|$)/;

/** Is it known, without its value, to be an array of records of which a field is of numbers? */
export function isDrawable({
  type,
  count,
  shape,
  visibility,
}: Pick<VariableInfo, "type" | "count" | "shape" | "visibility">): boolean {
  const isHidden = visibility === "secret";
  if (isHidden || type !== "array" || count < 2 || !/^\{.*\}\[\]$/.test(shape)) return false;
  let fields = shape.slice(1, -3);
  // Fields of fields are no columns.
  for (let inner = ""; inner !== fields;) {
    inner = fields;
    fields = inner.replaceAll(/\{[^{}]*\}/g, "…");
  }
  return NUMBERS.test(fields);
}
