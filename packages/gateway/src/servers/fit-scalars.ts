import type { JSONSchema7 } from "ai";
import { exactNumbers } from "../../../../src/internal.ts";
import { jsonSchemas } from "../../../../src/internal-tool.ts";

/**
 * Returns the input with its scalars in the one type that the schema allows in their places: 42 where it takes texts
 * only is "42", and "42" where it takes numbers only is 42. What would lose a character stays as it is, and the
 * server decides. Parts without a change are shared. Cost: linear.
 */
export function fitScalars(input: unknown, root: JSONSchema7): unknown {
  const only = new Map<jsonSchemas.Definition, Only | undefined>();
  return jsonSchemas.mapScalars(input, root, (scalar, at) => {
    if (!only.has(at)) only.set(at, onlyIn(jsonSchemas.typesIn(at, root)));
    return fitScalar(scalar, only.get(at));
  });
}

type Only = "string" | "number" | "integer" | "boolean";

/** The one type of scalars in a schema's types. Null is no other form of a scalar, and numbers include integers. */
function onlyIn(types: ReadonlySet<jsonSchemas.TypeName>): Only | undefined {
  const [only, ...others] = [...types].filter((type) => type !== "null");
  if (others.length === 0 && only !== "array" && only !== "object") return only;
  const isNumber = others.length === 1 && types.has("number") && types.has("integer");
  return isNumber ? "number" : undefined;
}

function fitScalar(value: unknown, only: Only | undefined): unknown {
  if (only === undefined) return value;
  if (only === "string") return textOf(value);
  if (typeof value !== "string") return value;
  if (only === "boolean") return value === "true" || (value === "false" ? false : value);
  return numberOf(value, only);
}

function textOf(value: unknown): unknown {
  if (exactNumbers.isExactNumber(value)) return value.rawJSON;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
}

function numberOf(text: string, type: "number" | "integer"): unknown {
  if (!(type === "integer" ? INTEGER : DECIMAL).test(text)) return text;
  const number = exactNumbers.exactNumber(text);
  return JSON.stringify(number) === text ? number : text;
}

const INTEGER = /^-?(?:0|[1-9]\d{0,399})$/u;
const DECIMAL = /^-?(?:0|[1-9]\d{0,399})(?:\.\d{1,400})?$/u;
