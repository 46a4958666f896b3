import { firstRow, numberIn, type Sql } from "./sql.ts";

/**
 * Numbered steps of the schema; one that has shipped never changes. Tables that a conversation may
 * never need (`chunk`, `tombstone`) are made when they are first used: each table costs rows.
 */
const migrations: readonly (readonly string[])[] = [
  [
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
  ],
];

/** Brings the schema to its newest version. Cost when there is nothing to do: one row read. */
export function migrate(sql: Sql): void {
  const version = schemaVersion(sql);
  // A newer version of this code may have been here.
  if (version >= migrations.length) return;
  sql.transaction(() => {
    for (const steps of migrations.slice(version)) for (const step of steps) sql.run(step);
    sql.run(
      `INSERT INTO meta (key, value) VALUES ('schema', ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      String(migrations.length),
    );
  });
}

/** True if anything was ever written here. */
export function hasSchema(sql: Sql): boolean {
  return schemaVersion(sql) > 0;
}

function schemaVersion(sql: Sql): number {
  const table = firstRow(sql, `SELECT 1 AS found FROM sqlite_master WHERE name = 'meta'`);
  if (table === undefined) return 0;
  const row = firstRow(
    sql,
    `SELECT CAST(value AS INTEGER) AS version FROM meta WHERE key = 'schema'`,
  );
  return row === undefined ? 0 : numberIn(row, "version");
}
