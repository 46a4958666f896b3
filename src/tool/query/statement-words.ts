import type { Token } from "./sql-tokens.ts";

/** The words that a statement begins with. */
export const STATEMENTS = new Set(["SELECT", "WITH", "VALUES"]);
/** Words that end the list of tables. */
export const AFTER_FROM = new Set(
  "WHERE GROUP ORDER LIMIT HAVING WINDOW UNION INTERSECT EXCEPT SELECT VALUES".split(" "),
);
/** Words that may follow a table and are no alias of it. */
export const AFTER_TABLE = new Set([
  ...AFTER_FROM,
  ..."JOIN LEFT RIGHT FULL INNER CROSS NATURAL OUTER ON USING INDEXED NOT".split(" "),
]);
export const COMPOUND = new Set(["UNION", "INTERSECT", "EXCEPT"]);
export const AGGREGATES = new Set(
  "COUNT SUM AVG TOTAL MIN MAX GROUP_CONCAT STRING_AGG JSON_GROUP_ARRAY JSON_GROUP_OBJECT".split(
    " ",
  ),
);
/** Operators that read a text to its end. A comparison with COLLATE reads it character by character. */
export const TEXT_OPERATORS = new Set(["LIKE", "GLOB", "COLLATE"]);
/** Functions that return tables. SQLite has others, which show the database itself. */
export const TABLE_FUNCTIONS = new Set(["JSON_EACH", "JSON_TREE"]);
/** Words after EXCLUDE in windows whose work is the square of their rows. */
export const QUADRATIC_FRAMES = new Set(["CURRENT", "GROUP", "TIES"]);

/** Values that are compared with IS, and equal only themselves or nothing in the data. */
const IS_VALUES = new Set(["NULL", "TRUE", "FALSE"]);

/**
 * True if a statement may compare such that values are equal that are different in the data, or NULL, or if a
 * plan that names its columns could be misread.
 */
export function comparesLoosely(tokens: readonly Token[]): boolean {
  return tokens.some(({ kind, value, word }, at) => {
    if (word === "COLLATE") return true;
    if (kind === "name" && value.includes("=?")) return true;
    if (word !== "IS") return false;
    const not = tokens[at + 1]?.word === "NOT";
    const following = tokens[not ? at + 2 : at + 1]?.word ?? "";
    return not ? following === "DISTINCT" : !IS_VALUES.has(following);
  });
}
