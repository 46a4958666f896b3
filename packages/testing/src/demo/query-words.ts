export type Operation = "list" | "count" | "sum" | "average" | "max" | "min";

/** What a question asks for, by its words; the first that fits counts. */
export const OPERATIONS: readonly (readonly [Operation, string])[] = [
  ["count", "how many"],
  ["count", "total number of"],
  ["count", "number of"],
  ["count", "count of"],
  ["count", "count"],
  ["sum", "sum of"],
  ["sum", "sum"],
  ["sum", "total"],
  ["average", "average"],
  ["average", "mean"],
  ["average", "avg"],
  ...["highest", "largest", "biggest", "greatest", "maximum", "max"].map(
    (word) => ["max", word] as const,
  ),
  ...["lowest", "smallest", "minimum", "min"].map((word) => ["min", word] as const),
];
export const GROUPING = [
  "grouped by",
  "group by",
  "by",
  "per",
  "for each",
  "in each",
  "of each",
  "each",
];
export const CONDITION = ["where", "with", "whose", "having"];
/** The words of this grammar that are no names or values. */
export const QUERY_WORDS: ReadonlySet<string> = new Set(
  [...OPERATIONS.map(([, words]) => words), ...GROUPING, ...CONDITION, "and", "is"].flatMap(
    (words) => words.split(" "),
  ),
);
export const EQUALS: ReadonlySet<string> = new Set([
  "is",
  "are",
  "was",
  "were",
  "=",
  "equals",
  "of",
]);
export const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["yes", true],
  ["false", false],
  ["no", false],
]);
export const HAVING: ReadonlySet<string> = new Set(["with", "have", "has", "having", "of"]);
