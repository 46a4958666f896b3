import type { SqlValue } from "../../src/store/rows/sql.ts";
import type { Json } from "../../src/value/json.ts";
import type { NodeSql } from "../support/node-sql.ts";

/** The statements that created a database of version 1, verbatim. */
const SCHEMA = [
  `CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID`,
  `CREATE TABLE message (
      seq INTEGER PRIMARY KEY, id TEXT NOT NULL, role TEXT NOT NULL, created_at INTEGER NOT NULL,
      chars INTEGER NOT NULL, body_chars INTEGER NOT NULL, chunks TEXT, body TEXT)`,
  `CREATE TABLE variable (
      name TEXT PRIMARY KEY, seq INTEGER NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL,
      count INTEGER NOT NULL, bytes INTEGER NOT NULL, chars INTEGER NOT NULL,
      shape TEXT NOT NULL, preview TEXT NOT NULL, description TEXT,
      tool TEXT, tool_call_id TEXT, input TEXT, input_digest TEXT,
      created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, expires_at INTEGER,
      pinned INTEGER NOT NULL, visibility TEXT NOT NULL,
      media_type TEXT, chunks TEXT, value TEXT) WITHOUT ROWID`,
];
const CHUNK_TABLE = `CREATE TABLE IF NOT EXISTS chunk
         (id TEXT, part INTEGER, text TEXT NOT NULL, PRIMARY KEY (id, part)) WITHOUT ROWID`;
const TOMBSTONE_TABLE = `CREATE TABLE IF NOT EXISTS tombstone
         (seq INTEGER PRIMARY KEY, name TEXT NOT NULL, data TEXT NOT NULL)`;

const MAX_ROW_BYTES = 65_536;
const MAX_CHUNK_BYTES = 1_048_576;

/** A variable as stored by version 1. */
export interface OldVariable {
  readonly name: string;
  readonly value: Json;
  readonly seq: number;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly version?: number;
  readonly dueMs?: number;
  readonly pinned?: boolean;
  readonly description?: string;
  readonly tool?: string;
  readonly toolCallId?: string;
  readonly input?: Json;
  readonly inputDigest?: string;
}

export interface OldMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly { readonly type: "text"; readonly text: string }[];
  readonly display?: readonly string[];
  readonly metadata?: Json;
  readonly createdMs: number;
}

/** Writes a database as the code of version 1 did. */
export class Version1 {
  readonly #sql: NodeSql;
  #messages = 0;

  constructor(sql: NodeSql) {
    this.#sql = sql;
    for (const statement of SCHEMA) sql.run(statement);
    this.meta("schema", "1");
  }

  meta(key: string, value: string): void {
    this.#sql.run(`INSERT INTO meta (key, value) VALUES (?, ?)`, key, value);
  }

  variable(variable: OldVariable): void {
    const { name, value, seq, input, pinned = false } = variable;
    const text = storedText(value);
    const isLarge = Buffer.byteLength(text) > MAX_ROW_BYTES;
    if (isLarge) this.#chunks(String(seq), text);
    this.#insert("variable", {
      name,
      seq,
      version: variable.version ?? 1,
      ...sizeOf(value),
      shape: shapeOf(variable),
      preview: previewOf(variable),
      description: variable.description ?? null,
      tool: variable.tool ?? null,
      tool_call_id: variable.toolCallId ?? null,
      input: input === undefined ? null : JSON.stringify(input),
      input_digest: variable.inputDigest ?? null,
      created_at: variable.createdMs,
      updated_at: variable.updatedMs,
      expires_at: variable.dueMs ?? null,
      pinned: pinned ? 1 : 0,
      visibility: "model",
      media_type: mediaTypeOf(value),
      chunks: isLarge ? String(seq) : null,
      value: isLarge ? null : text,
    });
  }

  tombstone(tombstone: { readonly name: string }): void {
    this.#sql.run(TOMBSTONE_TABLE);
    this.#insert("tombstone", { name: tombstone.name, data: JSON.stringify(tombstone) });
  }

  message({ id, role, parts, display, metadata, createdMs }: OldMessage): void {
    const body = JSON.stringify({ parts, display, metadata });
    const isLarge = Buffer.byteLength(body) > MAX_CHUNK_BYTES;
    const chunks = isLarge ? `message ${++this.#messages}` : null;
    if (chunks !== null) this.#chunks(chunks, body);
    this.#insert("message", {
      id,
      role,
      created_at: createdMs,
      chars: JSON.stringify(parts).length,
      body_chars: body.length,
      chunks,
      body: isLarge ? null : body,
    });
  }

  /**
   * Splits a text into chunks. A UTF-16 unit takes at most three bytes, and in most texts one. Surrogate
   * pairs are not cut.
   */
  #chunks(id: string, text: string): void {
    this.#sql.run(CHUNK_TABLE);
    const isAscii = Buffer.byteLength(text) === text.length;
    const chars = isAscii ? MAX_CHUNK_BYTES : Math.floor(MAX_CHUNK_BYTES / 3);
    for (let part = 0, rest = text; rest !== ""; part++) {
      const cutsPair = rest.length > chars && /^[\ud800-\udbff]/.test(rest.slice(chars - 1));
      const chunk = rest.slice(0, cutsPair ? chars - 1 : chars);
      this.#insert("chunk", { id, part, text: chunk });
      rest = rest.slice(chunk.length);
    }
  }

  #insert(table: string, columns: Readonly<Record<string, SqlValue>>): void {
    const names = Object.keys(columns);
    this.#sql.run(
      `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
      ...Object.values(columns),
    );
  }
}

/** Returns text verbatim. Other values, and text that UTF-8 cannot encode, become JSON. */
export function storedText(value: Json): string {
  return mediaTypeOf(value) === "text/plain" ? String(value) : JSON.stringify(value);
}

function mediaTypeOf(value: Json): string {
  const isText = typeof value === "string" && value.isWellFormed();
  return isText ? "text/plain" : "application/json";
}

function sizeOf(value: Json) {
  const text = storedText(value);
  const isArray = Array.isArray(value);
  const type = value === null ? "null" : isArray ? "array" : typeof value;
  const keys = typeof value === "object" && value !== null ? Object.keys(value).length : 1;
  const count = typeof value === "string" ? [...value].length : keys;
  return { type, count, bytes: Buffer.byteLength(text), chars: text.length };
}

/** Values that no code would compute, so that a test notices if they are computed again. */
const shapeOf = ({ name }: OldVariable) => `shape of ${name}`;
const previewOf = ({ name }: OldVariable) => `preview of "${name}"`;

/** Returns the info that version 2 gives for the variable after a migration at `nowMs`. */
export function infoOf(variable: OldVariable, nowMs: number): object {
  const { value, name, tool, version = 1, pinned = false, createdMs, updatedMs } = variable;
  const { dueMs, seq: _seq, inputDigest: _digest, ...others } = variable;
  const { value: _value, createdMs: _created, updatedMs: _updated, ...said } = others;
  const size = sizeOf(value);
  return {
    ...said,
    ...size,
    name,
    version,
    pinned,
    shape: shapeOf(variable),
    preview: previewOf(variable),
    mediaType: mediaTypeOf(value),
    location: size.bytes > MAX_ROW_BYTES ? "chunks" : "row",
    createdAt: iso(createdMs),
    updatedAt: iso(updatedMs),
    accessedAt: iso(nowMs),
    ...(dueMs === undefined ? {} : { expiresAt: iso(dueMs) }),
    scope: "conversation",
    visibility: "model",
    sources: [tool === undefined ? "caller" : `tool:${tool}`],
    trusted: true,
  };
}

function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
