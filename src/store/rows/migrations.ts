import { CHUNK_COLUMNS } from "../bytes/chunks.ts";
import { infoColumns, sqlTypeOf, variableTable } from "./variable-columns.ts";
import { hasTable, readMeta, type Sql } from "./sql.ts";

const TURN_TABLE = `CREATE TABLE turn (part INTEGER PRIMARY KEY, head TEXT, log TEXT NOT NULL)`;

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
  TURN_TABLE,
];

const VARIABLE_TABLE_2 = `CREATE TABLE variable_2 (
    name TEXT PRIMARY KEY, seq INTEGER NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL,
    bytes INTEGER NOT NULL, chars INTEGER NOT NULL, created_at INTEGER NOT NULL, accessed_at INTEGER NOT NULL, expires_at INTEGER,
    pinned INTEGER NOT NULL, visibility TEXT NOT NULL, run TEXT, tool TEXT, input_digest TEXT,
    updated_at INTEGER NOT NULL, count INTEGER NOT NULL,
    media_type TEXT NOT NULL, location TEXT NOT NULL, body_id TEXT,
    sources TEXT NOT NULL, trusted INTEGER NOT NULL,
    shape TEXT NOT NULL, preview TEXT NOT NULL, description TEXT, tool_call_id TEXT, input TEXT,
    marks TEXT, value) WITHOUT ROWID`;

/**
 * Migrations from one version of the schema to the next. A released migration never changes. Columns for
 * metadata fields are added according to `since` (`variable.ts`).
 */
const steps: ReadonlyMap<number, (sql: Sql, nowMs: number) => void> = new Map([
  [2, toVersion2],
  [3, (sql) => sql.run(TURN_TABLE)],
  // Version 0.2.0 made it for conversations of many variables.
  [6, (sql) => sql.run(`DROP INDEX IF EXISTS variable_scan`)],
]);

function toVersion2(sql: Sql, nowMs: number): void {
  sql.run(VARIABLE_TABLE_2);
  sql.run(
    `INSERT INTO variable_2
      SELECT name, seq, version, type, bytes, chars, created_at, ?, expires_at, pinned, visibility, NULL,
        tool, input_digest, updated_at, count, media_type,
        CASE WHEN chunks IS NULL THEN 'row' ELSE 'chunks' END, chunks,
        CASE WHEN tool IS NULL THEN '["caller"]' ELSE json_array('tool:' || tool) END, 1,
        shape, preview, description, tool_call_id, input, NULL, value FROM variable`,
    // The last use was not recorded, so the idle time starts here.
    nowMs,
  );
  sql.run(
    `INSERT OR IGNORE INTO meta (key, value)
       SELECT 'created', coalesce(min(at), ?) FROM (
         SELECT min(created_at) AS at FROM message UNION ALL SELECT min(created_at) FROM variable_2)`,
    nowMs,
  );
  sql.run(`DROP TABLE variable`);
  sql.run(`ALTER TABLE variable_2 RENAME TO variable`);
  sql.run(`CREATE TABLE event (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, data TEXT NOT NULL)`);
  if (!hasTable(sql, "chunk")) return;
  sql.run(`ALTER TABLE chunk RENAME TO chunk_1`);
  sql.run(`CREATE TABLE chunk ${CHUNK_COLUMNS}`);
  sql.run(`INSERT INTO chunk
      SELECT id, coalesce(sum(length(CAST(text AS BLOB))) OVER (
        PARTITION BY id ORDER BY part ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0),
        CAST(text AS BLOB) FROM chunk_1`);
  sql.run(`DROP TABLE chunk_1`);
}

const VERSION = Math.max(...steps.keys(), ...infoColumns.map(({ since = 0 }) => since));

/**
 * Migrates the schema to the newest version. True if the tables were just created and are empty. Costs one
 * row read when the schema is current.
 */
export function migrate(sql: Sql, nowMs: number = Date.now()): boolean {
  const version = schemaVersion(sql);
  // A newer version of this code may have migrated the schema.
  if (version >= VERSION) return false;
  sql.transaction(() => {
    if (version === 0) return create(sql, nowMs);
    for (let next = version + 1; next <= VERSION; next++) {
      steps.get(next)?.(sql, nowMs);
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
