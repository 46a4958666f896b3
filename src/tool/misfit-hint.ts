import * as limits from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import { wholeReference } from "../reference/reference.ts";
import { pickSyntaxes } from "../reference/syntaxes.ts";
import { clip } from "../value/characters.ts";
import { isJsonObject, type Json } from "../value/json.ts";
import { shapeOf } from "../value/shape.ts";
import { newestNames } from "./store-lookup.ts";
import type { WrapOptions } from "./wrapped-tool.ts";

/** An input that does not fit the tool's schema. */
export interface Misfit {
  /** The input as the model wrote it. */
  readonly written: Json;
  /** The input with references resolved. */
  readonly value: Json;
  readonly unresolved: readonly Unresolved[];
}

const MAX_HINTS = 3;

/**
 * Says what the references of such an input are, so that a model can write the right one: which variables
 * exist, if the names are unlike all of them, and the shapes of values that it may see.
 */
export function misfitHint(
  { written, value, unresolved }: Misfit,
  { store, syntaxes }: Pick<WrapOptions, "store" | "syntaxes">,
): string {
  const isLost =
    unresolved.some(({ code }) => code === "variable_not_found") &&
    unresolved.every(({ near }) => near === undefined);
  const names = isLost ? newestNames(store) : "";
  if (!isJsonObject(written) || !isJsonObject(value)) return names;
  const picked = pickSyntaxes(syntaxes);
  const shapes = Object.entries(written).flatMap(([key, text]) => {
    const part = value[key];
    if (typeof text !== "string" || part === undefined || part === text) return [];
    const reference = wholeReference(text, picked)?.reference;
    const info = reference === undefined ? undefined : store.info(reference.name);
    if (info?.visibility !== "model" || !info.trusted || info.type === "bytes") return [];
    const shape = reference?.path.length === 0 ? info.shape : shapeOf(part);
    return [` ${text} is ${clip(shape, limits.maxListedShapeChars)}.`];
  });
  return `${names}${shapes.slice(0, MAX_HINTS).join("")}`;
}
