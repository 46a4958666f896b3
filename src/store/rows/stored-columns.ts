import { copyOf } from "../../value/bytes.ts";
import type { Mark } from "../../value/marks.ts";
import { type Body, isStored, locationOf, type Stored, type StoredBody } from "../bytes/content.ts";
import { numberIn, optionalTextIn, type SqlRow, type SqlValue, textIn } from "./sql.ts";

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
