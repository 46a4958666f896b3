import { copyOf } from "../../value/bytes.ts";
import { deepFreeze, parsedJson } from "../../value/json.ts";
import type { Mark } from "../../value/marks.ts";
import { type Body, isStored, locationOf, type Stored, type StoredBody } from "../bytes/content.ts";
import { visibilityIn, visibilityText } from "../labels.ts";
import { toIso } from "../metadata.ts";
import { type Field, type FieldType, variableFields, type VariableInfo } from "../variable.ts";
import { numberIn, optionalTextIn, type SqlRow, type SqlValue, textIn } from "./sql.ts";

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

/** The columns of a value: its bytes, or where they are. */
export function bodyColumns({ body, marks, columns }: Stored): Readonly<Record<string, SqlValue>> {
  const isElsewhere = isStored(body);
  return {
    location: locationOf(body),
    body_id: isElsewhere ? body.id : null,
    marks: marksText({ marks, columns }),
    value: isElsewhere ? null : inlineValue(body),
  };
}

/** A table's columns are with its marks. */
function marksText({ marks, columns }: Pick<Stored, "marks" | "columns">): string | null {
  if (columns !== undefined) return JSON.stringify({ marks, columns });
  return marks.length === 0 ? null : JSON.stringify(marks);
}

function inlineValue(body: string | Uint8Array): SqlValue {
  // A copy, because a view may belong to a larger buffer.
  return typeof body === "string" ? body : copyOf(body).buffer;
}

/** Reads a value from a row with the columns of `bodyColumns`, `media_type`, `bytes` and `count`. */
export function storedFrom(row: SqlRow): Stored {
  const written = JSON.parse(optionalTextIn(row, "marks") ?? "[]") as Written;
  const { marks, columns } = "marks" in written ? written : { marks: written };
  return {
    mediaType: textIn(row, "media_type"),
    bytes: numberIn(row, "bytes"),
    count: numberIn(row, "count"),
    marks,
    columns,
    body: bodyFrom(row),
  };
}

/** What `marksText` writes. */
type Written = readonly Mark[] | { readonly marks: readonly Mark[]; readonly columns?: string };

function bodyFrom(row: SqlRow): Body {
  const id = optionalTextIn(row, "body_id");
  if (id !== undefined) {
    const location: StoredBody["location"] = textIn(row, "location") === "r2" ? "r2" : "chunks";
    return { location, id };
  }
  const { value } = row;
  return value instanceof ArrayBuffer ? new Uint8Array(value) : textIn(row, "value");
}
