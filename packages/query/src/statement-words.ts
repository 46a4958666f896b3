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
/** Functions that return tables. SQLite has others, which show the database itself. */
export const TABLE_FUNCTIONS = new Set(["JSON_EACH", "JSON_TREE"]);
