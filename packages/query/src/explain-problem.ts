import type { ByrefError } from "../../../src/errors.ts";
import { nearest } from "../../../src/internal.ts";
import { queryProblem, type TableColumns } from "./query-problem.ts";
import type { Statement } from "./statement.ts";

interface Explaining {
  readonly statement: Statement;
  readonly tables: TableColumns;
  /** Position of the problem, if SQLite reports it. */
  readonly at: number | undefined;
}

/** A median; `x` is the column, `t` the table. */
export const MEDIAN =
  "SELECT avg(x) FROM (SELECT x, row_number() OVER (ORDER BY x) AS r, count(*) OVER () AS n FROM t WHERE x IS NOT NULL) WHERE r IN ((n + 1) / 2, (n + 2) / 2)";

/** Replacements for features of other databases that SQLite does not have. */
const INSTEAD: Readonly<Record<string, string>> = {
  REGEXP: "LIKE or GLOB",
  NOW: "datetime('now')",
  GETDATE: "datetime('now')",
  YEAR: "CAST(strftime('%Y', x) AS INTEGER)",
  MONTH: "CAST(strftime('%m', x) AS INTEGER)",
  DAY: "CAST(strftime('%d', x) AS INTEGER)",
  DATE_PART: "CAST(strftime('%Y', x) AS INTEGER)",
  DATE_TRUNC: "strftime('%Y-%m', x)",
  DATEDIFF: "julianday(x) - julianday(y)",
  TO_CHAR: "strftime(format, x) or printf(format, x)",
  LEFT: "substr(x, 1, n)",
  RIGHT: "substr(x, -n)",
  ILIKE: "LIKE, which ignores capitals",
  ARRAY_AGG: "json_group_array(x)",
  UNNEST: "json_each(x)",
};

/** Turns SQLite's message into `bad_query`: with the place, similar names, and what to write instead. */
export function explainedProblem(
  message: string,
  { statement, tables, at }: Explaining,
): ByrefError {
  const { sql } = statement;
  const name = nameIn(message);
  const place = at ?? (name === undefined ? undefined : placeOf(statement, name));
  const known = new Set(Object.values(tables).flat());
  const isColumn = message.startsWith("no such column");
  const near = isColumn && name !== undefined ? nearest(name, known) : [];
  return queryProblem(`${message}.${hintFor(message, name, known)}`, {
    sql,
    at: place,
    tables,
    near,
  });
}

/** The name in a message of SQLite: `no such column: o.totl`, `near "FORM": syntax error`. */
function nameIn(message: string): string | undefined {
  const [, near] = /^near "([^]*)": syntax error$/.exec(message) ?? [];
  if (near !== undefined) return near;
  const [, named] =
    /(?:no such (?:column|function|table): |ambiguous column name: |arguments to function |misuse of (?:aggregate|window function): ?)"?([^\s"()]+)/.exec(
      message,
    ) ?? [];
  return named?.split(".").at(-1);
}

function placeOf({ tokens }: Statement, name: string): number | undefined {
  const wanted = name.toLowerCase();
  return tokens.find(({ value }) => value.toLowerCase() === wanted)?.start;
}

function hintFor(message: string, name: string | undefined, columns: ReadonlySet<string>): string {
  if (name === undefined) return "";
  const instead = Object.hasOwn(INSTEAD, name.toUpperCase())
    ? INSTEAD[name.toUpperCase()]
    : undefined;
  if (instead !== undefined && !message.startsWith("no such column")) return ` Write ${instead}.`;
  const isKeyword = message.startsWith("near ") && columns.has(name);
  return isKeyword ? ` As a column it is written "${name}".` : "";
}
