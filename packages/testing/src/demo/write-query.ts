import { namesOfRegion } from "./regions.ts";
import type { Filter, Query } from "./read-query.ts";
import type { Column, Table } from "./tables.ts";

/** Counts the records that have the value, for each column that may have it. */
export function sqlToFind(value: string, table: Table): string {
  const counts = textColumns(table).map(
    (column) => `count(*) FILTER (WHERE ${condition({ column, value })}) AS ${quoted(column.name)}`,
  );
  return `SELECT ${counts.join(", ")} FROM ${quoted(table.name)}`;
}

/** The columns in which a text may be. */
export function textColumns({ columns }: Table): readonly Column[] {
  return columns.filter(({ type }) => type !== "number" && type !== "boolean");
}

/** The names that the columns of a query's result have. */
export interface ResultNames {
  readonly rows: string;
  readonly figure: string;
}

export function resultNames({ operation, group }: Query): ResultNames {
  const free = (name: string) => (group?.name === name ? `${name}_of_all` : name);
  return { rows: free("rows"), figure: free(operation) };
}

export function sqlOf(query: Query, table: Table): string {
  const { operation, column, group, filters } = query;
  const where =
    filters.length === 0 ? "" : ` WHERE ${filters.map((one) => condition(one)).join(" AND ")}`;
  const from = ` FROM ${quoted(table.name)}${where}`;
  if (operation === "list") return `SELECT *${from}`;
  const { rows, figure } = resultNames(query);
  const of = column === undefined ? "*" : quoted(column.name);
  const figures = [
    ...(operation === "count" ? [] : [`${FUNCTIONS[operation]}(${of}) AS ${quoted(figure)}`]),
    `count(${of}) AS ${quoted(rows)}`,
  ].join(", ");
  if (group === undefined) return `SELECT ${figures}${from}`;
  const name = quoted(group.name);
  const first = quoted(operation === "count" ? rows : figure);
  const isText = group.type !== "number" && group.type !== "boolean";
  const [shown, by] = isText
    ? [`min(trim(${name})) AS ${name}`, `trim(${name}) COLLATE NOCASE`]
    : [name, name];
  return `SELECT ${shown}, ${figures}${from} GROUP BY ${by} ORDER BY ${first} DESC`;
}

/** Describes a filter in words, with other spellings of a country. */
export function sayFilter(filter: Filter): string {
  return `${filter.column.name} ${spellings(filter).join(" or ")}`;
}

const FUNCTIONS = { sum: "sum", average: "avg", max: "max", min: "min" } as const;

/** Texts are compared without case, as groups are made. */
function condition(filter: Filter): string {
  const { column, value } = filter;
  const name = quoted(column.name);
  if (typeof value === "number") return `${name} = ${value}`;
  if (typeof value === "boolean") return `${name} = ${value ? 1 : 0}`;
  const texts = spellings(filter).flatMap((text) => casesOf(String(text)));
  const literals = texts.map((text) => `'${text.replaceAll("'", "''")}'`);
  return `trim(${name}) COLLATE NOCASE IN (${[...new Set(literals)].join(", ")})`;
}

/** Only a column of countries has them as codes or names: another `DE` may be Delaware. */
function spellings({ column, value }: Filter): readonly Filter["value"][] {
  const isOfCountries = column.words.some((word) => word === "country" || word === "nation");
  return typeof value === "string" && isOfCountries ? [value, ...namesOfRegion(value)] : [value];
}

/** "NOCASE" is about ASCII letters only. */
function casesOf(text: string): readonly string[] {
  const lower = text.toLowerCase();
  if (!/[^\0-\x7f]/u.test(text)) return [text];
  const words = lower.replaceAll(/(?<![\p{L}\p{M}\p{N}'’])\p{L}/gu, (letter) =>
    letter.toUpperCase(),
  );
  const sentence = lower.charAt(0).toUpperCase() + lower.slice(1);
  return [text, lower, text.toUpperCase(), words, sentence];
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
