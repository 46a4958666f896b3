import type { Json } from "../value/json.ts";
import { toIso } from "./provenance.ts";
import {
  numberIn,
  optionalNumberIn,
  optionalTextIn,
  type Sql,
  type SqlRow,
  textIn,
} from "./sql.ts";
import type { VariableInfo, Visibility } from "./variable-store.ts";

/** Every column but the value, which is last in its row so that reading these never touches it. */
export const INFO_COLUMNS = `name, version, type, count, bytes, chars, shape, preview, description, tool,
  tool_call_id, input, created_at, updated_at, expires_at, pinned, visibility, chunks`;
/** What a row holds besides the metadata. */
export interface Stored {
  /** Orders the variables: the greatest was written last. */
  readonly seq: number;
  readonly inputDigest: string | null;
  /** `text/plain`: the value is the text; `application/json`: the text is parsed. */
  readonly mediaType: "text/plain" | "application/json";
  /** The id of the chunks that hold the text, or the text itself. */
  readonly chunks: string | null;
  readonly value: string | null;
}

/** Inserts or replaces the row of `info.name`. */
export function writeRow(sql: Sql, info: VariableInfo, stored: Stored): void {
  sql.run(
    `INSERT OR REPLACE INTO variable (name, seq, version, type, count, bytes, chars, shape, preview,
       description, tool, tool_call_id, input, input_digest, created_at, updated_at, expires_at,
       pinned, visibility, media_type, chunks, value)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    info.name,
    stored.seq,
    info.version,
    info.type,
    info.count,
    info.bytes,
    info.chars,
    info.shape,
    info.preview,
    info.description ?? null,
    info.tool ?? null,
    info.toolCallId ?? null,
    info.input === undefined ? null : JSON.stringify(info.input),
    stored.inputDigest,
    Date.parse(info.createdAt),
    Date.parse(info.updatedAt),
    info.expiresAt === undefined ? null : Date.parse(info.expiresAt),
    info.pinned ? 1 : 0,
    info.visibility,
    stored.mediaType,
    stored.chunks,
    stored.value,
  );
}

/** The metadata of a row that was read with `INFO_COLUMNS`. */
export function infoFrom(row: SqlRow): VariableInfo {
  const description = optionalTextIn(row, "description");
  const tool = optionalTextIn(row, "tool");
  const toolCallId = optionalTextIn(row, "tool_call_id");
  const input = optionalTextIn(row, "input");
  const expiresAtMs = optionalNumberIn(row, "expires_at");
  return {
    name: textIn(row, "name"),
    version: numberIn(row, "version"),
    // The two columns below hold what `writeRow` put there.
    type: textIn(row, "type") as VariableInfo["type"],
    visibility: textIn(row, "visibility") as Visibility,
    count: numberIn(row, "count"),
    bytes: numberIn(row, "bytes"),
    chars: numberIn(row, "chars"),
    shape: textIn(row, "shape"),
    preview: textIn(row, "preview"),
    ...(description === undefined ? {} : { description }),
    ...(tool === undefined ? {} : { tool }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(input === undefined ? {} : { input: JSON.parse(input) as Json }),
    createdAt: toIso(numberIn(row, "created_at")),
    updatedAt: toIso(numberIn(row, "updated_at")),
    ...(expiresAtMs === undefined ? {} : { expiresAt: toIso(expiresAtMs) }),
    pinned: numberIn(row, "pinned") === 1,
    location: optionalTextIn(row, "chunks") === undefined ? "row" : "chunks",
  };
}
