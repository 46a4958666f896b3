import { type Need, referencesIn } from "../reference/references-in.ts";
import type { SyntaxName } from "../reference/syntaxes.ts";
import { isJsonArray, isJsonObject, type Json } from "../value/json.ts";

/** A string somewhere in a call's parameters. */
export interface ParameterText {
  /** Keys and indices that lead to it. */
  readonly path: readonly (string | number)[];
  readonly text: string;
  /** What is referred to in it. */
  readonly needs: readonly Need[];
}

/** All strings of a value, in the order in which they are written. */
export function parameterTexts(
  value: Json,
  syntaxes: readonly SyntaxName[],
): readonly ParameterText[] {
  const texts: ParameterText[] = [];
  const open: { readonly inner: Json; readonly path: ParameterText["path"] }[] = [
    { inner: value, path: [] },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { inner, path } = next;
    if (typeof inner === "string") {
      const at = path.join(".");
      const needs = referencesIn(inner, syntaxes).map((need) => ({ ...need, at }));
      texts.push({ path, text: inner, needs });
    } else if (isJsonArray(inner) || isJsonObject(inner)) {
      const entries = (isJsonArray(inner) ? [...inner.entries()] : Object.entries(inner)).map(
        ([key, child]) => ({ inner: child, path: [...path, key] }),
      );
      // The last is looked at first.
      open.push(...entries.reverse());
    }
  }
  return texts;
}

/** Are there references with text around them? Then it is a text, whatever they stand for. */
export function isFilledText({ text, needs }: ParameterText): boolean {
  return needs.length > 0 && needs.every(({ source }) => source !== text);
}
