import type { KeptGlance, KeptVersion, Versions } from "./rows.ts";
import { firstRow, LateTable, numberIn, replaceRow, type Sql, type SqlRow, textIn } from "./sql.ts";
import { bodyColumns, storedFrom } from "./variable-columns.ts";
import type { VariableInfo } from "../variable.ts";

const COLUMNS = `(name TEXT, version INTEGER, bytes INTEGER NOT NULL, undone INTEGER NOT NULL, media_type TEXT NOT NULL,
   count INTEGER NOT NULL, location TEXT NOT NULL, body_id TEXT, info TEXT NOT NULL, marks TEXT, value,
   PRIMARY KEY (name, version)) WITHOUT ROWID`;

export class SqlVersions implements Versions {
  readonly #sql: Sql;
  #known: KeptGlance[] | undefined;
  readonly #table: LateTable;

  constructor(sql: Sql, isNew: boolean) {
    this.#sql = sql;
    this.#table = new LateTable(sql, "earlier_version", COLUMNS, isNew);
  }

  all(): readonly KeptGlance[] {
    this.#known ??= this.#read();
    return this.#known;
  }

  get(name: string, version: number): KeptVersion | undefined {
    if (!this.#table.exists) return undefined;
    const row = firstRow(
      this.#sql,
      `SELECT * FROM earlier_version WHERE name = ? AND version = ?`,
      name,
      version,
    );
    if (row === undefined) return undefined;
    const { isUndone } = glanceFrom(row);
    // `add` wrote it.
    const info = JSON.parse(textIn(row, "info")) as VariableInfo;
    return { info, stored: storedFrom(row), isUndone };
  }

  add({ info, stored, isUndone }: KeptVersion): void {
    const all = [...this.all()];
    this.#table.create();
    const { name, version } = info;
    const { bytes } = stored;
    replaceRow(this.#sql, "earlier_version", {
      name,
      version,
      bytes,
      undone: isUndone ? 1 : 0,
      media_type: stored.mediaType,
      count: stored.count,
      info: JSON.stringify(info),
      ...bodyColumns(stored),
    });
    this.#known = [...all, { name, version, bytes, isUndone }];
  }

  remove(name: string, version: number): void {
    this.#known = this.all().filter((one) => one.name !== name || one.version !== version);
    this.#sql.run(`DELETE FROM earlier_version WHERE name = ? AND version = ?`, name, version);
  }

  forget(): void {
    this.#known = undefined;
    this.#table.forget();
  }

  #read(): KeptGlance[] {
    if (!this.#table.exists) return [];
    return this.#sql
      .all(`SELECT name, version, bytes, undone FROM earlier_version ORDER BY name, version`)
      .map(glanceFrom);
  }
}

function glanceFrom(row: SqlRow): KeptGlance {
  return {
    name: textIn(row, "name"),
    version: numberIn(row, "version"),
    bytes: numberIn(row, "bytes"),
    isUndone: numberIn(row, "undone") === 1,
  };
}
