import { ByrefError } from "../../../src/errors.ts";
import type { ValueLabels, VariableStore } from "../../../src/internal.ts";
import { loadTable, type TableSource } from "./load-table.ts";
import type { EngineAnswer, EngineQuery, QueryEngine } from "./query-engine.ts";
import { readStatement } from "./read-statement.ts";
import { requireSmall } from "./sql-query-engine.ts";

/**
 * The databases of a conversation, from the smallest: trusted values that a model may see, all values that a model
 * may see, all that a person may see.
 */
export const AUTHORITIES = ["trusted", "visible", "person"] as const;

export type Authority = (typeof AUTHORITIES)[number];

/** The smallest database that may hold a value. Undefined for a secret, which none may hold. */
export function authorityOf({
  visibility,
  trusted,
  flags = [],
}: ValueLabels): Authority | undefined {
  if (visibility === "secret") return undefined;
  if (visibility === "sealed") return "person";
  return trusted && flags.length === 0 ? "trusted" : "visible";
}

/** A table, and the smallest database that may hold it. */
export interface AuthorizedTable extends TableSource {
  readonly authority: Authority;
}

/**
 * Runs statements where everything that they could read is something that their reader may have, whatever they
 * say (decision 0028). One instance for each conversation or store.
 */
export class QueryDatabases {
  /** Reads statements, for messages, references and estimates. Nothing depends on it that must hold. */
  readonly reader: typeof readStatement;
  readonly #open: (authority: Authority) => QueryEngine;
  readonly #opened = new Map<Authority, OpenedDatabase>();

  constructor(open: (authority: Authority) => QueryEngine, reader = readStatement) {
    this.#open = open;
    this.reader = reader;
  }

  /**
   * Runs a query in the smallest database that may hold its tables. Loads what is missing. Throws
   * `variable_sealed` if that is larger than `most`.
   */
  async run(
    query: Omit<EngineQuery, "kept">,
    tables: readonly AuthorizedTable[],
    most: Authority,
  ): Promise<EngineAnswer> {
    const needed = tables.map(({ authority }) => AUTHORITIES.indexOf(authority));
    const authority = AUTHORITIES[Math.max(0, ...needed)] ?? "person";
    if (AUTHORITIES.indexOf(authority) > AUTHORITIES.indexOf(most))
      throw new ByrefError("variable_sealed", "A query cannot read sealed values here.");
    return this.#database(authority).run(query, tables);
  }

  /**
   * Calls `purge` in the transaction of a change after which a copy may be where it must not be, or is of no use.
   * No statement reads such a copy in any case, because `run` deletes it first.
   */
  watch(store: Pick<VariableStore, "observe">, purge: () => void): void {
    store.observe(({ kind, info }) => {
      const isGone = kind === "deleted" || kind === "evicted";
      if (isGone || (info.version > 1 && authorityOf(info) !== "trusted")) purge();
    });
  }

  /** True if one of these databases may have copies that are not current. */
  isStale(authorities: Iterable<Authority>): boolean {
    return Array.from(authorities).some((one) => this.#database(one).isStale);
  }

  /** Deletes the copies that are not current. Default: in the databases that this instance has used. */
  async purge(authorities: Iterable<Authority> = this.#opened.keys()): Promise<void> {
    await Promise.all(Array.from(authorities, (one) => this.#database(one).purge()));
  }

  /** Deletes all copies. */
  async clear(authorities: Iterable<Authority>): Promise<void> {
    this.#opened.clear();
    await Promise.all(Array.from(authorities, (one) => this.#open(one).keep([])));
  }

  #database(authority: Authority): OpenedDatabase {
    const opened =
      this.#opened.get(authority) ??
      new OpenedDatabase(this.#open(authority), authority === "trusted");
    this.#opened.set(authority, opened);
    return opened;
  }
}

/** Tables are loaded and may be lost before the query runs; then again. */
const MAX_ATTEMPTS = 3;

/** One of the databases, in which one query runs at a time. */
class OpenedDatabase {
  readonly #engine: QueryEngine;
  /** True if tables stay when a query does not name them: they add nothing to the labels of its result. */
  readonly #keepsOthers: boolean;
  /** The tables that may be in it, by key. */
  #kept: ReadonlyMap<string, TableSource> = new Map();
  /** False if it may have other tables, too. */
  #isKnown = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(engine: QueryEngine, keepsOthers: boolean) {
    this.#engine = engine;
    this.#keepsOthers = keepsOthers;
  }

  run(query: Omit<EngineQuery, "kept">, tables: readonly TableSource[]): Promise<EngineAnswer> {
    const answer = this.#last.then(() => this.#answer(query, tables));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** True if it may have tables that are not current. */
  get isStale(): boolean {
    return !this.#isKnown || [...this.#kept.values()].some((table) => !table.isCurrent());
  }

  async purge(): Promise<void> {
    if (!this.isStale) return;
    const before = this.#kept;
    const current = new Map([...before].filter(([, table]) => table.isCurrent()));
    await this.#engine.keep([...current.keys()]);
    if (this.#kept !== before) return;
    this.#kept = current;
    this.#isKnown = true;
  }

  async #answer(
    query: Omit<EngineQuery, "kept">,
    tables: readonly TableSource[],
  ): Promise<EngineAnswer> {
    const own = tables.map((table) => [table.key, table] as const);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const others = [...this.#kept].filter(
        ([key, table]) =>
          this.#keepsOthers && table.isCurrent() && !tables.some((one) => one.key === key),
      );
      this.#kept = new Map([...others, ...own]);
      this.#isKnown = false;
      const answer = await this.#engine.run({ ...query, kept: others.map(([key]) => key) });
      this.#isKnown = true;
      requireSmall(answer);
      if (answer.kind === "missing") {
        const missing = tables.filter(({ key }) => answer.keys.includes(key));
        for (const table of missing) await loadTable(this.#engine, table);
      } else if (others.every(([, table]) => table.isCurrent())) return answer;
    }
    throw new ByrefError("conflict", "The tables of the query are not kept; try again.");
  }
}
