import type { Segment } from "../../../src/references.ts";
import type { Json } from "../../../src/value/json.ts";

export interface Child {
  readonly segment: Segment;
  readonly label: string;
  readonly value: Json;
}

/** Returns the first children of an array or object, and their number. */
export function childrenOf(
  value: Json,
  most: number,
): { readonly entries: readonly Child[]; readonly count: number } {
  if (typeof value !== "object" || value === null) return { entries: [], count: 0 };
  if (Array.isArray(value)) {
    // `Array.isArray` loses the type of a readonly array.
    const elements = value as readonly Json[];
    const entries = elements.slice(0, most).map((element, index) => {
      return { segment: { index }, label: String(index), value: element };
    });
    return { entries, count: elements.length };
  }
  const all = Object.entries(value as Readonly<Record<string, Json>>);
  const entries = all.slice(0, most).map(([key, child]) => {
    return { segment: { key }, label: key, value: child };
  });
  return { entries, count: all.length };
}

const MAX_SUMMARY_CHARS = 60;

/** Describes a closed branch: its size and its beginning. */
export function summaryOf(value: Json): string {
  const { entries, count } = childrenOf(value, 4);
  if (Array.isArray(value)) return `${count} ${count === 1 ? "element" : "elements"}`;
  const parts = entries.map(({ label, value: child }) => {
    const isBranch = typeof child === "object" && child !== null;
    return isBranch ? label : `${label}: ${JSON.stringify(child)}`;
  });
  const text = parts.join(", ");
  const isAll = count <= entries.length && text.length <= MAX_SUMMARY_CHARS;
  return isAll ? text || "no keys" : `${text.slice(0, MAX_SUMMARY_CHARS)}…`;
}
