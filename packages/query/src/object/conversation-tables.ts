import { AUTHORITIES, type Authority, QueryDatabases } from "../query-databases.ts";
import type { QueryEngine } from "../query-engine.ts";
import type { RanQuery } from "../query-tool.ts";
import { queryTools } from "../query-tools.ts";
import {
  type Bindings,
  type ConversationContext,
  type ConversationData,
  type ConversationQueries,
  logFailure,
  objectIn,
  placeIn,
} from "../../../../src/internal-edge.ts";
import type { QueryTools, WrapOptions } from "../../../../src/internal-tool.ts";
import { remoteEngine } from "./remote-engine.ts";

/** In the table `meta`: the databases that have had tables, and whether copies are to be deleted from them. */
type Mark = `tables ${Authority}` | "tables purge";

/** A conversation's databases, which are in objects of their own (`tables.ts`), and its queries. */
export class ConversationTables implements ConversationQueries {
  /** Undefined without the binding `TABLES`. */
  readonly databases: QueryDatabases | undefined;
  readonly #context: ConversationContext;
  /** Undefined before they are read. */
  #marks: Set<Mark> | undefined;
  #isPurgeDue = false;
  #purging: Promise<void> | undefined;

  constructor(context: ConversationContext) {
    this.#context = context;
    const { TABLES }: Partial<Bindings> = context.env;
    if (TABLES === undefined) return;
    this.databases = new QueryDatabases((authority) =>
      remoteEngine(
        () => this.#connect(TABLES, authority),
        () => this.#mark(`tables ${authority}`),
      ),
    );
    // Cheap and rare: a deleted conversation leaves no copies of its values.
    context.deletion.onMarked(() => this.#clear());
  }

  toolsFor(wrap: WrapOptions): QueryTools | undefined {
    const { databases } = this;
    if (databases === undefined) return undefined;
    return queryTools({ databases, wrap, onQuery: (query) => this.log(query) });
  }

  log(query: RanQuery): void {
    this.#context.data?.events.add({ type: "variables.queried", query });
  }

  watch({ store }: ConversationData): void {
    this.databases?.watch(store, () => {
      if (this.databases?.isStale(this.#used) !== true) return;
      // In the transaction of the change, so that a crash cannot come between.
      this.#mark("tables purge");
      this.#isPurgeDue = true;
      const purged = Promise.resolve().then(() => this.purged());
      this.#context.state.waitUntil(
        purged.catch((error: unknown) => logFailure(error, placeIn(this.#context, "tables"))),
      );
    });
  }

  async purged(): Promise<void> {
    if (this.databases === undefined || !this.#read().has("tables purge")) return;
    this.#purging ??= this.#purge(this.databases).finally(() => {
      this.#purging = undefined;
    });
    await this.#purging;
  }

  async #purge(databases: QueryDatabases): Promise<void> {
    do {
      this.#isPurgeDue = false;
      await databases.purge(this.#used);
    } while (this.#isPurgeDue);
    this.#marks?.delete("tables purge");
    this.#context.sql.run(`DELETE FROM meta WHERE key = 'tables purge'`);
  }

  #connect(namespace: DurableObjectNamespace, authority: Authority): QueryEngine {
    const { settings, state } = this.#context;
    const { jurisdiction } = state.id;
    const named = objectIn(namespace, `${state.id} ${authority}`, { settings, jurisdiction });
    // The namespace is bound to TablesObject; see `conversation-of.ts`.
    return named as unknown as QueryEngine;
  }

  get #used(): readonly Authority[] {
    const marks = this.#read();
    return AUTHORITIES.filter((authority) => marks.has(`tables ${authority}`));
  }

  #read(): Set<Mark> {
    if (this.#marks !== undefined) return this.#marks;
    const rows = this.#context.sql.all(`SELECT key FROM meta WHERE key LIKE 'tables %'`);
    // Written by `#mark`.
    this.#marks = new Set(rows.map(({ key }) => key as Mark));
    return this.#marks;
  }

  #mark(mark: Mark): void {
    if (this.#read().has(mark)) return;
    this.#read().add(mark);
    this.#context.sql.run(`INSERT OR IGNORE INTO meta (key, value) VALUES (?, '1')`, mark);
  }

  #clear(): void {
    const cleared = this.databases?.clear(AUTHORITIES) ?? Promise.resolve();
    this.#context.state.waitUntil(
      cleared.catch((error: unknown) => logFailure(error, placeIn(this.#context, "tables"))),
    );
    this.#marks = undefined;
  }
}
