import type { Sql, sqlRows } from "../../../../src/internal.ts";

/** The tables of `migrations.ts` and of the stores, those of earlier versions included. */
const TABLES =
  "chunk(?:_1)?|earlier_version|event|garbage|message|meta|tombstone|turn|variable(?:_2)?";
/** A table that a statement names: after a keyword, before a column, or as the text that it looks for. */
const NAMES = new RegExp(
  `\\b((?:EXISTS|FROM|INTO|JOIN|TABLE|TO|UPDATE) )(${TABLES})\\b|\\b(${TABLES})\\.|(sqlite_master WHERE name = )\\?`,
  "gu",
);

/** Adds a prefix to the tables of the store, so that they can be beside those of another application. */
export class PrefixedSql implements Sql {
  readonly #sql: Sql;
  readonly #prefix: string;
  /** Prefixed statements by the original one. All statements are constants or differ in a few columns. */
  readonly #statements = new Map<string, string>();

  /** `prefix`: letters, digits and underscores. */
  constructor(sql: Sql, prefix: string) {
    this.#sql = sql;
    this.#prefix = prefix;
  }

  run(statement: string, ...bindings: readonly sqlRows.SqlValue[]): void {
    this.#sql.run(this.#prefixed(statement), ...bindings);
  }

  all(statement: string, ...bindings: readonly sqlRows.SqlValue[]): readonly sqlRows.SqlRow[] {
    return this.#sql.all(this.#prefixed(statement), ...bindings);
  }

  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    return this.#sql.transaction(work);
  }

  #prefixed(statement: string): string {
    const known = this.#statements.get(statement);
    if (known !== undefined) return known;
    const prefix = this.#prefix;
    const made = statement.replace(NAMES, (_, ...groups: readonly (string | undefined)[]) => {
      const [before, table, qualifier, looked] = groups;
      if (looked !== undefined) return `${looked}'${prefix}' || ?`;
      return qualifier === undefined ? `${before}${prefix}${table}` : `${prefix}${qualifier}.`;
    });
    this.#statements.set(statement, made);
    return made;
  }
}
