import type { KeptGlance, KeptVersion, Versions } from "./rows.ts";
import { LateTable, numberIn, type Sql, type SqlRow, textIn } from "./sql.ts";
import { bodyColumns, storedFrom } from "./variable-columns.ts";
import type { VariableInfo } from "../variable.ts";

const COLUMNS = `(name TEXT, version INTEGER, bytes INTEGER NOT NULL, undone INTEGER NOT NULL, media_type TEXT NOT NULL,
   count INTEGER NOT NULL, location TEXT NOT NULL, body_id TEXT, info TEXT NOT NULL, marks TEXT, value,
   PRIMARY KEY (name, version)) WITHOUT ROWID`;

export class SqlVersions implements Versions {
  readonly #table: LateTable;

  constructor(sql: Sql, isNew: boolean) {
    this.#table = new LateTable(sql, "earlier_version", COLUMNS, isNew);
  }

  all(): readonly KeptGlance[] {
    return this.#table.all("name, version, bytes, undone", "ORDER BY name, version").map((row) => ({
      name: textIn(row, "name"),
      version: numberIn(row, "version"),
      bytes: numberIn(row, "bytes"),
      isUndone: isUndone(row),
    }));
  }

  get(name: string, version: number): KeptVersion | undefined {
    const [row] = this.#table.all("*", "WHERE name = ? AND version = ?", name, version);
    if (row === undefined) return undefined;
    // `add` wrote it.
    const info = JSON.parse(textIn(row, "info")) as VariableInfo;
    return { info, stored: storedFrom(row), isUndone: isUndone(row) };
  }

  add({ info, stored, isUndone }: KeptVersion): void {
    this.#table.put({
      name: info.name,
      version: info.version,
      bytes: stored.bytes,
      undone: isUndone ? 1 : 0,
      media_type: stored.mediaType,
      count: stored.count,
      info: JSON.stringify(info),
      ...bodyColumns(stored),
    });
  }

  remove(name: string, version: number): void {
    this.#table.remove({ name, version });
  }

  /** A rollback may have removed the table. */
  forget(): void {
    this.#table.forget();
  }
}

function isUndone(row: SqlRow): boolean {
  return numberIn(row, "undone") === 1;
}
