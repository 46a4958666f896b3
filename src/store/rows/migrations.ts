import { infoColumns, sqlTypeOf, variableTable } from "./variable-columns.ts";
import { hasTable, readMeta, type Sql } from "./sql.ts";

/**
 * The current schema. The tables are small and have no secondary indexes: creating a table costs a
 * conversation rows, and an index costs a row in every write. Tables that a conversation may never need
 * (`chunk`, `garbage`, `tombstone`) are created on first use.
 */
const schema: readonly string[] = [
  `CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID`,
  `CREATE TABLE message (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, role TEXT NOT NULL, created_at INTEGER NOT NULL,
    chars INTEGER NOT NULL, body_chars INTEGER NOT NULL, chunks TEXT, body TEXT)`,
  variableTable(),
  `CREATE TABLE event (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, data TEXT NOT NULL)`,
  // The newest turn: its head in the first row, its log in as many rows as needed.
  `CREATE TABLE turn (part INTEGER PRIMARY KEY, head TEXT, log TEXT NOT NULL)`,
];

const VERSION = Math.max(...infoColumns.map(({ since = 0 }) => since));

/**
 * Migrates the schema from that of version 0.1.0, the fourth, or a later one. A released step never changes. True if the tables were just created and are empty. Costs one
 * row read when the schema is current.
 */
export function migrate(sql: Sql, nowMs: number = Date.now()): boolean {
  const version = schemaVersion(sql);
  // A newer version of this code may have migrated the schema.
  if (version >= VERSION) return false;
  sql.transaction(() => {
    if (version === 0) return create(sql, nowMs);
    for (let next = version + 1; next <= VERSION; next++) {
      // Version 0.2.0 made it for conversations of many variables.
      if (next === 6) sql.run(`DROP INDEX IF EXISTS variable_scan`);
      addColumns(sql, next);
    }
    sql.run(`UPDATE meta SET value = ? WHERE key = 'schema'`, String(VERSION));
  });
  return version === 0;
}

/** Appends columns after the value. Moving the value would copy all values, which costs more than it saves. */
function addColumns(sql: Sql, version: number): void {
  for (const column of infoColumns) {
    if (column.since !== version) continue;
    sql.run(`ALTER TABLE variable ADD COLUMN ${column.column} ${sqlTypeOf(column)}`);
  }
}

function create(sql: Sql, nowMs: number): void {
  for (const statement of schema) sql.run(statement);
  sql.run(
    `INSERT INTO meta (key, value) VALUES ('schema', '${VERSION}'), ('created', ?)`,
    String(nowMs),
  );
}

/** True if the database was ever written to. */
export function hasSchema(sql: Sql): boolean {
  return schemaVersion(sql) > 0;
}

function schemaVersion(sql: Sql): number {
  return hasTable(sql, "meta") ? Number(readMeta(sql, "schema") ?? 0) : 0;
}
