import { deepFreeze, parsedJson } from "../../value/json.ts";
import { visibilityIn, visibilityText } from "../labels.ts";
import { toIso } from "../metadata.ts";
import { type Field, type FieldType, variableFields, type VariableInfo } from "../variable.ts";
import { optionalTextIn, type SqlRow, type SqlValue, textIn } from "./sql.ts";

interface Column extends Field {
  readonly name: keyof VariableInfo;
  readonly column: string;
}

/** The metadata fields that have a column. */
export const infoColumns: readonly Column[] = Object.entries<Field>(variableFields).flatMap(
  ([name, field]) => {
    const column = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return field.hasColumn === false ? [] : { ...field, name: name as keyof VariableInfo, column };
  },
);

/** The columns of an `Entry`, in the order in which `SqlRows` reads them. */
export const ENTRY_COLUMNS = (
  "name seq version type bytes chars created_at accessed_at expires_at pinned visibility run tool " +
  "input_digest made_of"
).split(" ");

/** Columns of `variable` that are not metadata fields, except `marks` and `value`. */
const OWN_COLUMNS = { seq: "INTEGER NOT NULL", run: "TEXT", input_digest: "TEXT", body_id: "TEXT" };

/**
 * The current table. Columns that the index of all variables reads come first, the value
 * last: SQLite does not read beyond the requested columns.
 */
export function variableTable(): string {
  const columns = new Map<string, string>(Object.entries(OWN_COLUMNS));
  for (const column of infoColumns) columns.set(column.column, sqlTypeOf(column));
  const first = ENTRY_COLUMNS.map((name) => [name, columns.get(name)] as const);
  const ordered = [...new Map([...first, ...columns])].map(([name, type]) => `${name} ${type}`);
  return `CREATE TABLE variable (${ordered.join(", ")}, marks TEXT, value,
    PRIMARY KEY (name)) WITHOUT ROWID`;
}

/** Returns the column's type. A column that was added later accepts null. */
export function sqlTypeOf({ is, isOptional }: Field): string {
  const isNumber = is === "count" || is === "order" || is === "boolean" || is === "time";
  return `${isNumber ? "INTEGER" : "TEXT"}${isOptional === true ? "" : " NOT NULL"}`;
}

/** Returns the metadata as column values, only for `wanted` columns. */
export function columnsOf(
  info: VariableInfo,
  wanted: (column: Column) => boolean = () => true,
): Readonly<Record<string, SqlValue>> {
  const values = infoColumns
    .filter(wanted)
    .map(({ name, column, is }) => [column, encoded(info[name], is)] as const);
  const { visibility, ...columns } = Object.fromEntries(values);
  return visibility === undefined ? columns : { ...columns, visibility: visibilityText(info) };
}

/** Reads the metadata from a row with its columns and `run`. */
export function infoFrom(row: SqlRow): VariableInfo {
  const fields = infoColumns.flatMap(({ name, column, is }) => {
    const value = row[column] ?? null;
    return value === null ? [] : [[name, decoded(value, is)] as const];
  });
  // The columns hold values that `columnsOf` wrote.
  return {
    ...(Object.fromEntries(fields) as unknown as VariableInfo),
    scope: optionalTextIn(row, "run") === undefined ? "conversation" : "run",
    ...visibilityIn(textIn(row, "visibility")),
  };
}

const JSON_TYPES: ReadonlySet<FieldType> = new Set(["json", "names", "versions"] as const);

function encoded(value: VariableInfo[keyof VariableInfo], is: FieldType): SqlValue {
  if (value === undefined) return null;
  if (JSON_TYPES.has(is)) return JSON.stringify(value);
  if (is === "boolean") return value === true ? 1 : 0;
  if (is === "time") return Date.parse(String(value));
  return typeof value === "number" ? value : String(value);
}

function decoded(value: SqlValue, is: FieldType): unknown {
  if (JSON_TYPES.has(is)) return deepFreeze(parsedJson(String(value)));
  if (is === "boolean") return value === 1;
  return is === "time" ? toIso(Number(value)) : value;
}
