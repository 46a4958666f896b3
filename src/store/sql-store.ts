import { limits } from "../limits.ts";
import type { Json } from "../value/json.ts";
import { requireName, splitNumber } from "./names.ts";
import { chooseName, type Sibling, UsedNumbers } from "./choose-name.ts";
import { Chunks } from "./chunks.ts";
import { type Described, describeValue, valueFrom } from "./described.ts";
import {
  changed,
  dueAt,
  forgottenNames,
  provenanceOf,
  toIso,
  tombstoneOf,
  wholeCount,
} from "./provenance.ts";
import {
  firstRow,
  numberIn,
  optionalNumberIn,
  optionalTextIn,
  type Sql,
  type SqlRow,
  textIn,
} from "./sql.ts";
import { Tombstones } from "./tombstones.ts";
import { ValueCache } from "./value-cache.ts";
import { INFO_COLUMNS, infoFrom, writeRow } from "./variable-row.ts";
import { extending, isExtension, valueAfter } from "./write-mode.ts";
import type {
  Changes,
  ListOptions,
  Tombstone,
  VariableInfo,
  VariableStore,
  Write,
} from "./variable-store.ts";

const NUMBERS_KEY = "numbers";

/**
 * Variables in a conversation's SQLite (schema: `migrations.ts`). A value of up to 64 KiB costs one row
 * written and one read; a larger one a row more for each started megabyte. Metadata is read without it.
 */
export class SqlStore implements VariableStore {
  readonly #sql: Sql;
  readonly #now: () => number;
  readonly #cache = new ValueCache(limits.maxJsonBytes);
  readonly #tombstones: Tombstones;
  readonly #chunks: Chunks;
  #usedNumbers: UsedNumbers | undefined;
  #newestSeq: number | undefined;

  constructor(sql: Sql, { now = Date.now }: { readonly now?: () => number } = {}) {
    this.#sql = sql;
    this.#now = now;
    this.#tombstones = new Tombstones(sql);
    this.#chunks = new Chunks(sql);
  }

  save(given: Write): VariableInfo {
    if (typeof given.name === "string") requireName(given.name);
    const write = isExtension(given) ? this.#extending(given) : given;
    const described = describeValue(write.value);
    const info = this.#atomically(() => this.#write(write, described));
    this.#remember(info, described.value);
    return info;
  }

  update(name: string, changes: Changes): VariableInfo | undefined {
    const before = this.info(name);
    if (before === undefined) return undefined;
    const info = changed(before, changes, this.#now());
    this.#sql.run(
      `UPDATE variable SET pinned = ?, description = ?, expires_at = ? WHERE name = ?`,
      info.pinned ? 1 : 0,
      info.description ?? null,
      info.expiresAt === undefined ? null : Date.parse(info.expiresAt),
      name,
    );
    this.#cache.delete(name);
    return info;
  }

  read(name: string): Json | undefined {
    const cached = this.#cache.get(name);
    if (cached !== undefined) return this.#isOver(cached.expiresAtMs) ? undefined : cached.value;
    const row = this.#row(name, "expires_at, bytes, media_type, chunks, value");
    if (row === undefined) return undefined;
    const chunks = optionalTextIn(row, "chunks");
    const text = chunks === undefined ? textIn(row, "value") : this.#chunks.read(chunks);
    const value = valueFrom({ text, asText: textIn(row, "media_type") === "text/plain" });
    const expiresAtMs = optionalNumberIn(row, "expires_at");
    this.#cache.set(name, { value, expiresAtMs }, numberIn(row, "bytes"));
    return value;
  }

  info(name: string): VariableInfo | undefined {
    const row = this.#row(name, INFO_COLUMNS);
    return row === undefined ? undefined : infoFrom(row);
  }

  tombstone(name: string): Tombstone | undefined {
    const columns = `${INFO_COLUMNS}, input_digest`;
    const row = firstRow(this.#sql, `SELECT ${columns} FROM variable WHERE name = ?`, name);
    if (row === undefined) return this.#tombstones.get(name);
    return this.#isDue(row) ? tombstoneFrom(row) : undefined;
  }

  list({ last, names }: ListOptions = {}): readonly VariableInfo[] {
    const limit = last === undefined || names !== undefined ? -1 : wholeCount(last);
    const infos = this.#sql
      .all(
        `SELECT ${INFO_COLUMNS} FROM variable WHERE expires_at IS NULL OR expires_at > ?
         ORDER BY seq DESC LIMIT ?`,
        this.#now(),
        limit,
      )
      .map(infoFrom)
      .filter((info) => names === undefined || names.includes(info.name));
    return (last === undefined ? infos : infos.slice(0, wholeCount(last))).reverse();
  }

  count(): number {
    const row = firstRow(
      this.#sql,
      `SELECT count(*) AS total FROM variable WHERE expires_at IS NULL OR expires_at > ?`,
      this.#now(),
    );
    return row === undefined ? 0 : numberIn(row, "total");
  }

  couldBegin(prefix: string): boolean {
    // Every character that a name may hold sorts before "{".
    const found = firstRow(
      this.#sql,
      `SELECT 1 AS found FROM variable WHERE name >= ? AND name < ? LIMIT 1`,
      prefix,
      `${prefix}{`,
    );
    return found !== undefined || this.#tombstones.couldBegin(prefix);
  }

  delete(name: string): boolean {
    return this.#atomically(() => {
      const existed = this.#row(name, "expires_at") !== undefined;
      this.#tombstones.delete(name);
      this.#remove([name]);
      return existed;
    });
  }

  reset(keepLast: number): readonly string[] {
    const names = forgottenNames(this.list(), keepLast);
    this.#atomically(() => this.#remove(names));
    return names;
  }

  evictExpired(nowMs: number, limit: number): readonly Tombstone[] {
    const due = this.#sql
      .all(
        `SELECT ${INFO_COLUMNS}, input_digest FROM variable
         WHERE expires_at <= ? ORDER BY seq LIMIT ?`,
        nowMs,
        wholeCount(limit),
      )
      .map(tombstoneFrom);
    if (due.length === 0) return due;
    this.#atomically(() => {
      this.#remove(due.map(({ name }) => name));
      this.#tombstones.add(due);
    });
    return due;
  }

  nextDueMs(): number | undefined {
    const row = firstRow(this.#sql, `SELECT min(expires_at) AS due FROM variable`);
    return row === undefined ? undefined : optionalNumberIn(row, "due");
  }

  #extending(write: Write): Write {
    const name = String(write.name);
    const existing = this.info(name);
    if (existing === undefined) return write;
    const value = valueAfter(write.mode ?? "replace", this.read(name), write.value);
    return { ...extending(write, existing, this.#now()), value };
  }

  #write(write: Write, { text, asText, about }: Described): VariableInfo {
    const now = this.#now();
    const name = chooseName(
      write,
      (base) => this.#siblings(base),
      (base) => this.#numbers.highest(base),
    );
    const previous = firstRow(
      this.#sql,
      `SELECT version, created_at, chunks FROM variable WHERE name = ?`,
      name,
    );
    if (previous !== undefined) this.#removeChunks(previous);
    const seq = this.#nextSeq();
    const isLarge = about.bytes > limits.maxRowBytes;
    if (isLarge) this.#chunks.write(String(seq), text);
    const earlier = previous === undefined ? this.#tombstones.get(name)?.version : undefined;
    const expiresAtMs = dueAt(write, now);
    const info: VariableInfo = {
      name,
      version: 1 + (previous === undefined ? (earlier ?? 0) : numberIn(previous, "version")),
      ...about,
      ...provenanceOf(write),
      createdAt: toIso(previous === undefined ? now : numberIn(previous, "created_at")),
      updatedAt: toIso(now),
      ...(expiresAtMs === undefined ? {} : { expiresAt: toIso(expiresAtMs) }),
      pinned: write.pinned ?? false,
      visibility: "model",
      location: isLarge ? "chunks" : "row",
    };
    writeRow(this.#sql, info, {
      seq,
      inputDigest: typeof write.name === "object" ? write.name.inputDigest : null,
      mediaType: asText ? "text/plain" : "application/json",
      chunks: isLarge ? String(seq) : null,
      value: isLarge ? null : text,
    });
    this.#tombstones.delete(name);
    this.#numbers.note(name);
    return info;
  }

  #removeChunks(row: SqlRow): void {
    const id = optionalTextIn(row, "chunks");
    if (id !== undefined) this.#chunks.remove(id);
  }

  /** Removes rows and chunks, keeps their numbers used. */
  #remove(names: readonly string[]): void {
    let hasNews = false;
    for (const name of names) {
      const row = firstRow(this.#sql, `SELECT chunks FROM variable WHERE name = ?`, name);
      if (row === undefined) continue;
      this.#removeChunks(row);
      this.#sql.run(`DELETE FROM variable WHERE name = ?`, name);
      this.#cache.delete(name);
      this.#numbers.note(name);
      hasNews ||= splitNumber(name) !== undefined;
    }
    if (hasNews) this.#saveNumbers();
  }

  #saveNumbers(): void {
    this.#sql.run(
      `INSERT INTO meta (key, value) VALUES (?, ?)
       ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      NUMBERS_KEY,
      JSON.stringify(this.#numbers),
    );
  }

  get #numbers(): UsedNumbers {
    if (this.#usedNumbers === undefined) {
      const row = firstRow(this.#sql, `SELECT value FROM meta WHERE key = ?`, NUMBERS_KEY);
      this.#usedNumbers = new UsedNumbers(
        row === undefined ? {} : JSON.parse(textIn(row, "value")),
      );
    }
    return this.#usedNumbers;
  }

  #siblings(base: string): readonly Sibling[] {
    const living = this.#sql
      .all(
        `SELECT name, tool, input_digest FROM variable
         WHERE name = ? OR (name >= ? AND name < ?)`,
        base,
        `${base}_`,
        `${base}_{`,
      )
      .map((row) => ({
        name: textIn(row, "name"),
        tool: optionalTextIn(row, "tool"),
        inputDigest: optionalTextIn(row, "input_digest"),
      }));
    return [...living, ...this.#tombstones.siblings(base)];
  }

  #nextSeq(): number {
    if (this.#newestSeq === undefined) {
      const row = firstRow(this.#sql, `SELECT max(seq) AS newest FROM variable`);
      this.#newestSeq = row === undefined ? 0 : numberIn(row, "newest");
    }
    this.#newestSeq++;
    return this.#newestSeq;
  }

  /** The row, unless its time is over. */
  #row(name: string, columns: string): SqlRow | undefined {
    const row = firstRow(this.#sql, `SELECT ${columns} FROM variable WHERE name = ?`, name);
    return row === undefined || this.#isDue(row) ? undefined : row;
  }

  #isDue(row: SqlRow): boolean {
    return this.#isOver(optionalNumberIn(row, "expires_at"));
  }

  #isOver(expiresAtMs: number | undefined): boolean {
    return expiresAtMs !== undefined && expiresAtMs <= this.#now();
  }

  #remember(info: VariableInfo, value: Json): void {
    const expiresAtMs = info.expiresAt === undefined ? undefined : Date.parse(info.expiresAt);
    this.#cache.set(info.name, { value, expiresAtMs }, info.bytes);
  }

  /** What is rolled back in SQLite is forgotten here as well, to be read again. */
  #atomically<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    try {
      return this.#sql.transaction<Result>(work);
    } catch (error) {
      this.#cache.clear();
      this.#tombstones.forget();
      this.#usedNumbers = undefined;
      this.#newestSeq = undefined;
      this.#chunks.forget();
      throw error;
    }
  }
}

function tombstoneFrom(row: SqlRow): Tombstone {
  return tombstoneOf(infoFrom(row), optionalTextIn(row, "input_digest"));
}
