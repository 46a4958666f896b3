import { copyOf } from "../../value/bytes.ts";
import type { Mark } from "../../value/marks.ts";
import { type Body, isStored, type StoredBody } from "../bytes/content.ts";
import type { Stored } from "./rows.ts";
import { numberIn, optionalTextIn, type SqlRow, type SqlValue, textIn } from "./sql.ts";

/** The columns of a value: its bytes, or where they are. */
export function bodyColumns({ body, marks }: Stored): Readonly<Record<string, SqlValue>> {
  const isElsewhere = isStored(body);
  return {
    location: isElsewhere ? body.location : "row",
    body_id: isElsewhere ? body.id : null,
    marks: marks.length === 0 ? null : JSON.stringify(marks),
    value: isElsewhere ? null : inlineValue(body),
  };
}

function inlineValue(body: string | Uint8Array): SqlValue {
  // A copy, because a view may belong to a larger buffer.
  return typeof body === "string" ? body : copyOf(body).buffer;
}

/** Reads a value from a row with the columns of `bodyColumns`, `media_type`, `bytes` and `count`. */
export function storedFrom(row: SqlRow): Stored {
  const marks = optionalTextIn(row, "marks");
  return {
    mediaType: textIn(row, "media_type"),
    bytes: numberIn(row, "bytes"),
    count: numberIn(row, "count"),
    marks: marks === undefined ? [] : (JSON.parse(marks) as Mark[]),
    body: bodyFrom(row),
  };
}

function bodyFrom(row: SqlRow): Body {
  const id = optionalTextIn(row, "body_id");
  if (id !== undefined) {
    const location: StoredBody["location"] = textIn(row, "location") === "r2" ? "r2" : "chunks";
    return { location, id };
  }
  const { value } = row;
  return value instanceof ArrayBuffer ? new Uint8Array(value) : textIn(row, "value");
}
