import type { QueryEngine } from "../../tool/query/query-engine.ts";
import type { RanQuery } from "../../tool/query/query-tool.ts";
import { type QueryTools, queryTools } from "../../tool/query/query-tools.ts";
import type { WrapOptions } from "../../tool/wrapped-tool.ts";
import type { Bindings } from "../app-env.ts";
import type { ConversationContext, ConversationQueries } from "../conversation-context.ts";
import type { ConversationData } from "../conversation-data.ts";
import { logFailure, placeIn } from "../log-failure.ts";
import { objectIn } from "../placement.ts";
import { remoteEngine } from "../platform/remote-engine.ts";

/** In the table `meta`: the conversation has had tables. Others make no calls. */
const MARK = "tables";

/** A conversation's tables, which are in an object of their own (`tables.ts`), and its queries. */
export class ConversationTables implements ConversationQueries {
  /** Undefined without the binding `TABLES`. */
  readonly engine: QueryEngine | undefined;
  readonly #context: ConversationContext;
  #isUsed: boolean | undefined;

  constructor(context: ConversationContext) {
    this.#context = context;
    this.engine = this.#connected();
    // Cheap and rare: a deleted conversation leaves no copies of its values.
    if (this.engine !== undefined) context.deletion.onMarked(() => this.#drop());
  }

  toolsFor(wrap: WrapOptions): QueryTools | undefined {
    const { engine } = this;
    if (engine === undefined) return undefined;
    return queryTools({ engine, wrap, onQuery: (query) => this.log(query) });
  }

  log(query: RanQuery): void {
    this.#context.data?.events.add({ type: "variables.queried", query });
  }

  /**
   * Drops the tables of variables that are deleted, evicted or guarded. If that fails, they are dropped when
   * they are idle.
   */
  watch({ store }: ConversationData): void {
    if (this.engine === undefined) return;
    store.observe(({ kind, info }) => {
      const isGone = kind === "deleted" || kind === "evicted" || info.visibility !== "model";
      if (isGone && this.#hasTables()) this.#drop(info.name);
    });
  }

  #connected(): QueryEngine | undefined {
    const { env, state } = this.#context;
    const { TABLES }: Partial<Bindings> = env;
    if (TABLES === undefined) return undefined;
    const { jurisdiction } = state.id;
    // An object is created whatever the settings are; they are checked at a request.
    const connect = () => {
      const { settings } = this.#context;
      const named = objectIn(TABLES, state.id.toString(), { settings, jurisdiction });
      // The namespace is bound to TablesObject; see `conversation-of.ts`.
      return named as unknown as QueryEngine;
    };
    return remoteEngine(connect, () => this.#mark());
  }

  #mark(): void {
    if (this.#hasTables()) return;
    this.#isUsed = true;
    this.#context.sql.run(`INSERT OR IGNORE INTO meta (key, value) VALUES ('${MARK}', '1')`);
  }

  #hasTables(): boolean {
    const { sql } = this.#context;
    this.#isUsed ??= sql.all(`SELECT 1 FROM meta WHERE key = '${MARK}'`).length > 0;
    return this.#isUsed;
  }

  #drop(variable?: string): void {
    const dropped = this.engine?.drop(variable) ?? Promise.resolve();
    this.#context.state.waitUntil(
      dropped.catch((error: unknown) => logFailure(error, placeIn(this.#context, "tables"))),
    );
    if (variable === undefined) this.#isUsed = undefined;
  }
}
