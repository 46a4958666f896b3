import { ByrefError, requireAtMost } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { exactNumbers, json, sqlRows, encoding } from "../../../../src/internal.ts";
import type { Identity } from "../../../../src/runtime.ts";
import type { Schedule } from "./program-schemas.ts";

/** What starts runs of a program: a schedule, a webhook, or an agent, by its name. */
export interface Trigger {
  readonly program: string;
  readonly kind: "schedule" | "webhook" | "agent";
  readonly name: string;
  /** Who has made it. Its runs are theirs. */
  readonly asker: Identity;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly schedule?: Schedule;
  /** When a schedule is due, in milliseconds since 1970. */
  readonly dueMs?: number | undefined;
  /** A webhook's address, and what its requests are signed with. */
  readonly hook?: string;
  readonly secret?: string;
  /** What an agent's model is told of the program. */
  readonly description?: string | undefined;
}

/** A tenant's triggers. The first one creates the table. */
export class TriggerStore {
  readonly #sql: sqlRows.Sql;

  constructor(sql: sqlRows.Sql) {
    this.#sql = sql;
  }

  get #isUsed(): boolean {
    return sqlRows.hasTable(this.#sql, "program_trigger");
  }

  /** By name. */
  list(program: string, kind: Trigger["kind"]): readonly Trigger[] {
    return this.#all(`program = ? AND kind = ? ORDER BY name`, program, kind);
  }

  /** Those of an agent, by program. */
  ofAgent(name: string): readonly Trigger[] {
    return this.#all(`kind = 'agent' AND name = ? ORDER BY program`, name);
  }

  /** Schedules that are due, longest first. */
  due(nowMs: number): readonly Trigger[] {
    return this.#all(`due <= ? ORDER BY due LIMIT ?`, nowMs, limits.maxPlanRuns);
  }

  withHook(hook: string): Trigger | undefined {
    return this.#all(`hook = ?`, hook)[0];
  }

  /** When the next schedule is due, in milliseconds since 1970. */
  get dueMs(): number {
    return this.#all(`due IS NOT NULL ORDER BY due LIMIT 1`)[0]?.dueMs ?? Infinity;
  }

  /** Adds or replaces a trigger. Throws `limit_exceeded`. */
  put({ dueMs, ...about }: Omit<Trigger, "createdAt">): Trigger {
    const trigger = { ...about, createdAt: new Date().toISOString() };
    for (const statement of TABLES) this.#sql.run(statement);
    const { program, kind, name, hook } = trigger;
    const counted = `SELECT 1 FROM program_trigger WHERE program = ? AND NOT (kind = ? AND name = ?)`;
    const others = this.#sql.all(counted, program, kind, name).length;
    const advice = "Delete schedules, webhooks and agents that are no longer needed.";
    requireAtMost(["maxPlanRuns", limits.maxPlanRuns], others + 1, advice);
    this.#sql.run(
      `REPLACE INTO program_trigger (program, kind, name, data, due, hook) VALUES (?, ?, ?, ?, ?, ?)`,
      program,
      kind,
      name,
      JSON.stringify(trigger),
      dueMs ?? null,
      hook ?? null,
    );
    return { ...trigger, dueMs };
  }

  /** Sets when a schedule is due next. Returns false if it has changed meanwhile. */
  postpone({ program, name, dueMs }: Trigger, nextMs: number | undefined): boolean {
    const update = `UPDATE program_trigger SET due = ? WHERE program = ? AND name = ? AND due = ? RETURNING name`;
    return this.#sql.all(update, nextMs ?? null, program, name, dueMs ?? null).length > 0;
  }

  /** Throws `not_found`. */
  delete(program: string, kind: Trigger["kind"], name: string): void {
    const deleted = `DELETE FROM program_trigger WHERE program = ? AND kind = ? AND name = ? RETURNING 1`;
    if (this.#isUsed && this.#sql.all(deleted, program, kind, name).length > 0) return;
    throw new ByrefError("not_found", `There is no ${kind} ${name.slice(0, 80)} of this program.`);
  }

  /** Deletes those of a program, or all. */
  deleteAll(program?: string): void {
    const deleted = `DELETE FROM program_trigger WHERE program = coalesce(?, program)`;
    if (this.#isUsed) this.#sql.run(deleted, program ?? null);
  }

  #all(where: string, ...bindings: readonly (string | number)[]): readonly Trigger[] {
    if (!this.#isUsed) return [];
    const select = `SELECT data, due FROM program_trigger WHERE ${where}`;
    return this.#sql.all(select, ...bindings).map((row) => {
      // `put` wrote it.
      const trigger = exactNumbers.parseExactly(sqlRows.textIn(row, "data")) as unknown as Trigger;
      const { due } = row;
      return { ...trigger, ...json.compact({ dueMs: typeof due === "number" ? due : undefined }) };
    });
  }
}

const TABLES = [
  `CREATE TABLE IF NOT EXISTS program_trigger (
     program TEXT, kind TEXT, name TEXT, data TEXT NOT NULL, due INTEGER, hook TEXT UNIQUE,
     PRIMARY KEY (program, kind, name)) WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS program_trigger_due ON program_trigger (due) WHERE due IS NOT NULL`,
];

/** The headers of a signed request, as in Standard Webhooks. */
export interface SignedHeaders {
  readonly "webhook-id"?: string | undefined;
  /** Seconds since 1970. */
  readonly "webhook-timestamp"?: string | undefined;
  /** `v1,` and the signature in Base64; several of them, separated by spaces, while a secret changes. */
  readonly "webhook-signature"?: string | undefined;
}

const encoder = new TextEncoder();

/** The address of a webhook: its tenant, and what nobody can guess. */
export function newHook(tenant: string): string {
  return `${tenant}.${encoding.toHex(crypto.getRandomValues(new Uint8Array(16)))}`;
}

/** The tenant whose object knows the webhook, if there is one. Throws as for an unknown webhook. */
export function tenantOfHook({ hook = "" }: Readonly<Record<string, string>>): string {
  const [, tenant] = /^(.{1,256})\.[\da-f]{32}$/su.exec(hook) ?? [];
  if (tenant === undefined) throw notSigned();
  return tenant;
}

export function newSecret(): string {
  return PREFIX + encoding.toBase64(crypto.getRandomValues(new Uint8Array(32)));
}

/** Requires a signature of the request that is new enough. Returns the request's id. Throws `unauthorized`. */
export async function requireSignature(
  secret: string,
  headers: SignedHeaders,
  body: string,
): Promise<string> {
  const { "webhook-id": id = "", "webhook-timestamp": time = "" } = headers;
  const signatures = headers["webhook-signature"]?.split(" ").slice(0, MAX_SIGNATURES) ?? [];
  const bytes = encoding.fromBase64(secret.slice(PREFIX.length));
  const key = await importKey(bytes);
  // Reading the body dropped a byte order mark, with which it was signed.
  const texts = ["", "\uFEFF"].map((mark) => encoder.encode(`${id}.${time}.${mark}${body}`));
  const isNew = /^\d{1,11}$/u.test(time) && Math.abs(Date.now() / 1_000 - Number(time)) <= WINDOW_S;
  for (const signature of signatures) {
    const [, text] = /^v1,([\w+/]{43}=)$/u.exec(signature) ?? [];
    if (text === undefined) continue;
    // It compares in constant time.
    const verified = texts.map((signed) =>
      crypto.subtle.verify("HMAC", key, encoding.fromBase64(text), signed),
    );
    if ((await Promise.all(verified)).includes(true) && isNew && id !== "") return id;
  }
  throw notSigned();
}

const PREFIX = "whsec_";
const MAX_SIGNATURES = 10;
/** A request is accepted for five minutes before and after its timestamp, in seconds. */
const WINDOW_S = 300;

function importKey(bytes: Uint8Array): Promise<CryptoKey> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", bytes as Uint8Array<ArrayBuffer>, hmac, false, ["verify"]);
}

/** The same for all requests, so that nobody learns which webhooks exist. */
export function notSigned(): ByrefError {
  const message = "There is no such webhook, or the request's signature or time is not valid.";
  return new ByrefError("unauthorized", message);
}
