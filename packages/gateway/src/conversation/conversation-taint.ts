import { firstRow } from "../../../../src/store/rows/sql.ts";
import { Taint } from "../../../../src/store/labels.ts";
import type { ConversationContext } from "../../../../src/edge/conversation-context.ts";

/** Remembers, also after hibernation, that a client's model has seen what is not trusted. */
export class ConversationTaint extends Taint {
  readonly #context: ConversationContext;

  constructor(context: ConversationContext) {
    super();
    this.#context = context;
  }

  override get isTainted(): boolean {
    const { data, sql } = this.#context;
    if (super.isTainted || data === undefined) return super.isTainted;
    return firstRow(sql, `SELECT value FROM meta WHERE key = 'gateway_tainted'`) !== undefined;
  }

  override add(): void {
    if (this.isTainted) return;
    // Data that a model has read before its first call counts, too.
    this.#context.wake();
    super.add();
    this.#context.sql.run(
      `INSERT OR IGNORE INTO meta (key, value) VALUES ('gateway_tainted', '1')`,
    );
  }
}
