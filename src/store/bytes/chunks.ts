import * as limits from "../../limits.ts";
import { joinBytes, piecesOf, copyOf } from "../../value/bytes.ts";
import { decodeUtf8 } from "../../value/encoding.ts";
import type { Chunks } from "../rows/rows.ts";
import { LateTable, type Sql } from "../rows/sql.ts";

export class SqlChunks extends LateTable implements Chunks {
  constructor(sql: Sql) {
    super(sql, "chunk", CHUNK_COLUMNS);
  }

  write(id: string, start: number, bytes: Uint8Array): void {
    this.create();
    let offset = start;
    for (const chunk of piecesOf(bytes, limits.maxRecordBytes)) {
      // SQLite copies the whole buffer, so a view of a larger buffer needs its own.
      const { buffer } = copyOf(chunk);
      this.sql.run(`INSERT INTO chunk (id, start, bytes) VALUES (?, ?, ?)`, id, offset, buffer);
      offset += chunk.length;
    }
  }

  read(id: string, from: number, to: number): Uint8Array {
    const end = Math.min(to, Number.MAX_SAFE_INTEGER);
    // SQLite returns only the requested part of the first and the last row.
    const rows = this.sql.all(
      `SELECT substr(bytes, max(? - start, 0) + 1, ? - max(start, ?)) AS bytes
       FROM chunk WHERE id = ? AND start > ? AND start < ? ORDER BY start`,
      from,
      end,
      from,
      id,
      from - limits.maxRecordBytes,
      end,
    );
    return joinBytes(
      rows.flatMap(({ bytes }) => (bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : [])),
    );
  }

  remove(id: string): void {
    this.sql.run(`DELETE FROM chunk WHERE id = ?`, id);
  }
}

const CHUNK_COLUMNS = `(id TEXT, start INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (id, start)) WITHOUT ROWID`;

/** Stores a text as chunks. The id must be new. */
export function writeText(chunks: Chunks, id: string, text: string): void {
  chunks.write(id, 0, new TextEncoder().encode(text));
}

export function readText(chunks: Chunks, id: string): string {
  return decodeUtf8(chunks.read(id, 0, Infinity));
}
