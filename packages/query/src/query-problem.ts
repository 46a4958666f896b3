import { ByrefError } from "../../../src/errors.ts";
import { json } from "../../../src/internal.ts";

/** Columns by table, as a query can name them. */
export type TableColumns = Readonly<Record<string, readonly string[]>>;

interface ProblemPlace {
  readonly sql: string;
  /** Position of the problem in the statement, in UTF-16 units. Default: unknown. */
  readonly at?: number | undefined;
  /** The tables of the statement that exist. */
  readonly tables?: TableColumns | undefined;
  readonly near?: readonly string[] | undefined;
}

/** A median; `x` is the column, `t` the table. */
const MEDIAN =
  "SELECT avg(x) FROM (SELECT x, row_number() OVER (ORDER BY x) AS r, count(*) OVER () AS n FROM t WHERE x IS NOT NULL) WHERE r IN ((n + 1) / 2, (n + 2) / 2)";

/** What other databases have, and SQLite in Durable Objects has not, with what to write. */
const INSTEAD: readonly (readonly [written: RegExp, instead: string])[] = [
  [/::\s*[a-z]/i, "CAST(x AS type), without ::"],
  [
    /\b(?:extract|date_part|year|month|day)\s*\(/i,
    "CAST(strftime('%Y', x) AS INTEGER), with %m for months and %d for days",
  ],
  [/\bdate_trunc\s*\(/i, "strftime('%Y-%m', x)"],
  [/\b(?:now|getdate)\s*\(/i, "datetime('now')"],
  [/\bdatediff\s*\(/i, "julianday(x) - julianday(y)"],
  [/\bto_char\s*\(/i, "strftime(format, x) or printf(format, x)"],
  [/\b(?:left|right)\s*\(/i, "substr(x, 1, n), or substr(x, -n)"],
  [/\bsubstring\s*\([^()]*\bfrom\b/i, "substr(x, start, length), without FROM"],
  [/\btrim\s*\([^()]*\bfrom\b/i, "trim(x, characters), without FROM"],
  [/\bilike\b/i, "LIKE, which ignores capitals"],
  [/\bregexp\b/i, "LIKE or GLOB"],
  [/\barray_agg\s*\(/i, "json_group_array(x)"],
  [/\bunnest\s*\(/i, "json_each(x)"],
  [/\b(?:median|percentile(?:_cont|_disc)?)\s*\(/i, `for the median ${MEDIAN}`],
];

const MAX_LINE_CHARS = 100;
const MAX_LISTED_COLUMNS = 40;
const MAX_LISTED_TABLES = 10;

/**
 * Creates `bad_query`. Its details are `message`, `position` and `caret` (the line with the place marked),
 * `tables` with their columns, and `near`; its message has the same in words, because models receive only that.
 */
export function queryProblem(said: string, { sql, at, tables = {}, near = [] }: ProblemPlace) {
  const shown = Object.fromEntries(
    Object.entries(tables)
      .slice(0, MAX_LISTED_TABLES)
      .map(([name, columns]) => [name, columns.slice(0, MAX_LISTED_COLUMNS)]),
  );
  const caret = at === undefined ? undefined : caretAt(sql, at);
  const suggestion = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  const [, instead] = INSTEAD.find(([written]) => written.test(sql)) ?? [];
  const advice = instead === undefined ? "" : ` Write ${instead}.`;
  const listed = Object.entries(shown).map(([name, columns]) => `${name}(${columns.join(", ")})`);
  const columns = listed.length === 0 ? [] : `Tables: ${listed.join("; ")}`;
  const parts = [`${said}${suggestion}${advice}`, caret ?? [], columns].flat();
  const details = {
    message: `${said}${advice}`,
    ...json.compact({ position: at, caret }),
    tables: shown,
    ...(near.length === 0 ? {} : { near }),
  };
  return new ByrefError("bad_query", parts.join("\n"), details);
}

/** Creates the error for a statement that does more than read. */
export function notAllowed(said: string, { sql, at }: ProblemPlace): ByrefError {
  const message = `${said} A query is one SELECT, WITH … SELECT or VALUES statement.`;
  if (at === undefined) return new ByrefError("query_not_allowed", message, { message });
  const details = { message, position: at, caret: caretAt(sql, at) };
  return new ByrefError("query_not_allowed", `${message}\n${details.caret}`, details);
}

/** Returns the line of a place, shortened around it, and a caret below the place. */
function caretAt(sql: string, at: number): string {
  const from = Math.max(sql.lastIndexOf("\n", at - 1) + 1, at - MAX_LINE_CHARS / 2);
  const ending = sql.indexOf("\n", at);
  const to = Math.min(ending < 0 ? sql.length : ending, from + MAX_LINE_CHARS);
  const line = sql.slice(from, to).replaceAll(/[\t\r]/g, " ");
  return `${line}\n${" ".repeat(at - from)}^`;
}
