import * as limits from "./gateway-limits.ts";
import { ByrefError, messageOf } from "../../../src/errors.ts";
import { Taint, encoding, sqlRows } from "../../../src/internal.ts";
import { policies } from "../../../src/internal-tool.ts";
import type { Tool } from "@modelcontextprotocol/server";

export interface GatewayStateOptions {
  /**
   * The process or object that runs a call. `isAlive`: false for one that has ended: its calls were cut off. Default:
   * this object, and all others have ended.
   */
  readonly owner?: { readonly id: string; isAlive(id: string): boolean };
  /** Default: lines for a person are dropped. */
  readonly log?: (line: string) => void;
  /** Replaces what creates the table `meta` if it is missing, before something is written there. */
  readonly prepareMeta?: () => void;
}

/** The taint, approvals, running calls and counts of a gateway, in a database. Reading writes nothing. */
export class GatewayState {
  readonly taint: Taint;
  readonly approvals: policies.ApprovalLedger<string>;
  readonly #sql: sqlRows.Sql;
  readonly #meta: Meta;
  readonly #options: Required<Omit<GatewayStateOptions, "prepareMeta">>;
  readonly #ending = new Set<() => void>();
  #isEnded = false;

  constructor(sql: sqlRows.Sql, options: GatewayStateOptions = {}) {
    const id = crypto.randomUUID();
    this.#sql = sql;
    this.#options = {
      owner: { id, isAlive: (other) => other === id },
      log: () => undefined,
      ...options,
    };
    this.#meta = metaIn(sql, options.prepareMeta);
    this.taint = new LastingTaint(this.#meta);
    this.approvals = new policies.ApprovalLedger(questionsIn(sql));
  }

  /** The key for what clients send back, also to another process and after a restart. It is made on first use. */
  signingKey(): Uint8Array {
    const made = encoding.toBase64(crypto.getRandomValues(new Uint8Array(32)));
    this.#meta.add("gateway_key", made);
    return encoding.fromBase64(this.#meta.get("gateway_key") ?? made);
  }

  /** No call fails because it cannot be counted. */
  add(counts: Partial<Counts>): void {
    const added = Object.entries(counts).filter(([, count]) => count > 0);
    try {
      this.#sql.transaction(() => {
        this.#sql.run(`CREATE TABLE IF NOT EXISTS gateway_count
          (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID`);
        for (const [name, count] of added) this.#sql.run(ADD_COUNT, name, count);
      });
    } catch (error) {
      this.#options.log(`A call was not counted: ${messageOf(error)}`);
    }
  }

  read(): Counts {
    if (!sqlRows.hasTable(this.#sql, "gateway_count")) return NO_COUNTS;
    const counts = this.#sql
      .all(`SELECT name, count FROM gateway_count`)
      .map((row) => [sqlRows.textIn(row, "name"), sqlRows.numberIn(row, "count")] as const)
      .filter(([name]) => name in NO_COUNTS);
    return { ...NO_COUNTS, ...Object.fromEntries(counts) };
  }

  /**
   * Runs a call between its records. Throws `outcome_unknown`, once, if the process or object ended that ran the same
   * call. `key`: the same for the same call.
   */
  async runOnce<Result>(key: string, tool: string, run: () => Promise<Result>): Promise<Result> {
    const cutOffMs = this.#takeCutOff(key);
    if (cutOffMs !== undefined) {
      throw unknownOutcome(tool, `The gateway ended at ${new Date(cutOffMs).toISOString()}`);
    }
    const end = this.begin(key);
    try {
      return await run();
    } finally {
      end();
    }
  }

  /** Records that a call begins. The returned function records that it has ended. */
  begin(call: string): () => void {
    this.#sql.run(`CREATE TABLE IF NOT EXISTS gateway_call
      (id TEXT PRIMARY KEY, call TEXT NOT NULL, at INTEGER NOT NULL, instance TEXT NOT NULL)`);
    this.#sql.run(`DELETE FROM gateway_call WHERE at < ?`, Date.now() - limits.journalMs);
    const id = crypto.randomUUID();
    this.#sql.run(ADD_CALL, id, call, Date.now(), this.#options.owner.id);
    const end = () => {
      if (!this.#ending.delete(end)) return;
      try {
        this.#sql.run(`DELETE FROM gateway_call WHERE id = ?`, id);
      } catch {
        // The database is locked or full, or its tables were deleted with the conversation.
      }
    };
    return () => {
      if (this.#isEnded) return;
      // The client has its answer only when it was written out. Until then the call counts as cut off.
      this.#ending.add(end);
      setTimeout(end, limits.journalEndMs);
    };
  }

  /** Returns when a process died during the same call, in milliseconds since 1970, and forgets that call. */
  #takeCutOff(call: string): number | undefined {
    const sql = this.#sql;
    if (!sqlRows.hasTable(sql, "gateway_call")) return undefined;
    const dead = sql
      .all(`SELECT id, instance FROM gateway_call WHERE call = ?`, call)
      .filter((row) => !this.#options.owner.isAlive(sqlRows.textIn(row, "instance")));
    // Another process may have taken it meanwhile.
    const taken = dead.flatMap((row) =>
      sql.all(`DELETE FROM gateway_call WHERE id = ? RETURNING at`, sqlRows.textIn(row, "id")),
    );
    return taken.length === 0
      ? undefined
      : Math.max(...taken.map((row) => sqlRows.numberIn(row, "at")));
  }

  /** Calls that have not ended by now count as cut off: their answers may not reach the client any more. */
  endCalls(): void {
    this.#isEnded = true;
    for (const end of this.#ending) end();
  }
}

const ADD_COUNT = `INSERT INTO gateway_count (name, count) VALUES (?, ?)
  ON CONFLICT (name) DO UPDATE SET count = count + excluded.count`;
const ADD_CALL = `INSERT INTO gateway_call (id, call, at, instance) VALUES (?, ?, ?, ?)`;

/** Questions to people, who may answer after a restart, and to another process. */
function questionsIn(sql: sqlRows.Sql): policies.Questions<string> {
  const pins = (statement: string, id: string) =>
    sqlRows.hasTable(sql, "gateway_question")
      ? sql.all(statement, id).map((row) => sqlRows.textIn(row, "pin"))
      : [];
  return {
    set: (id, pin) => {
      sql.run(`CREATE TABLE IF NOT EXISTS gateway_question
        (id TEXT PRIMARY KEY, pin TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID`);
      sql.run(`DELETE FROM gateway_question WHERE at < ?`, Date.now() - limits.gatewayQuestionMs);
      sql.run(`INSERT INTO gateway_question VALUES (?, ?, ?)`, id, pin, Date.now());
    },
    get: (id) => pins(`SELECT pin FROM gateway_question WHERE id = ?`, id)[0],
    delete: (id) => pins(`DELETE FROM gateway_question WHERE id = ? RETURNING pin`, id).length > 0,
  };
}

type Meta = ReturnType<typeof metaIn>;

const META = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)";

/** Texts by keys. `prepare`: creates their table if it is missing. */
export function metaIn(sql: sqlRows.Sql, prepare: () => void = () => sql.run(META)) {
  return {
    get(key: string): string | undefined {
      if (!sqlRows.hasTable(sql, "meta")) return undefined;
      const row = sqlRows.firstRow(sql, `SELECT value FROM meta WHERE key = ?`, key);
      return row && sqlRows.textIn(row, "value");
    },
    /** Keeps an earlier text. */
    add(key: string, value: string): void {
      prepare();
      sql.run(`INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)`, key, value);
    },
    set(key: string, value: string): void {
      prepare();
      sql.run(`INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)`, key, value);
    },
  };
}

/** Remembers, also after a restart, that a client's model has seen what is not trusted. */
class LastingTaint extends Taint {
  readonly #meta: Meta;

  constructor(meta: Meta) {
    super();
    this.#meta = meta;
  }

  override get isTainted(): boolean {
    return super.isTainted || this.#meta.get(TAINTED) !== undefined;
  }

  override add(): void {
    if (this.isTainted) return;
    super.add();
    this.#meta.add(TAINTED, "1");
  }
}

const TAINTED = "gateway_tainted";

/** True unless the server declares its tool as read-only or idempotent. */
export function runsOnce({ annotations }: Pick<Tool, "annotations">): boolean {
  return annotations?.readOnlyHint !== true && annotations?.idempotentHint !== true;
}

export function unknownOutcome(tool: string, what: string): ByrefError {
  const message = `${what}, while ${tool} ran with this input: it may have taken effect. Find out first; if it has not, call it again.`;
  return new ByrefError("outcome_unknown", message);
}

/** The server may have acted on the request before it ended. */
export const SENT = { sent: true };

/** True for the error of a request that was sent to a server, which then ended. */
export function wasSent(error: unknown): boolean {
  return error instanceof ByrefError && error.details.sent === true;
}

/** Counters of a workspace. Values are never stored. */
export type Counts = Readonly<Record<keyof typeof NO_COUNTS, number>>;

/** Returns the counts with the tokens that were not sent, estimated by 4 characters each. */
export function withTokens(counts: Counts): Counts & { readonly tokensSaved: number } {
  const { calls, kept, charactersReceived, charactersSent, ...ofReferences } = counts;
  const tokensSaved = Math.round(Math.max(charactersReceived - charactersSent, 0) / 4);
  return { calls, kept, charactersReceived, charactersSent, tokensSaved, ...ofReferences };
}

export const NO_COUNTS = {
  /** Calls of tools, those that failed included. */
  calls: 0,
  /** Results that were kept as variables. */
  kept: 0,
  /** Characters of the servers' results, and of what the client was sent for them. */
  charactersReceived: 0,
  charactersSent: 0,
  /** Characters of the references that were written, and bytes of the values that replaced them. */
  referenceCharacters: 0,
  bytesByReference: 0,
  wrongReferences: 0,
  /** Calls that succeeded after the same tool was called with a wrong reference. */
  recovered: 0,
};

/** The codes with which a call fails because of what was written for a reference. */
export const WRONG_REFERENCES: readonly string[] =
  "path_not_found variable_not_found variable_evicted bad_path".split(" ");
