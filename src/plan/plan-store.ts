import { ByrefError, limitExceeded, requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import {
  firstRow,
  hasTable,
  numberIn,
  optionalTextIn,
  type Sql,
  type SqlRow,
  textIn,
} from "../store/rows/sql.ts";
import { parsedJson, type Json } from "../value/json.ts";
import { byteLength } from "../value/utf8.ts";
import type { Plan } from "./plan.ts";
import { isOpenRun, type RunRecord } from "./run-record.ts";

export type PlanStatus = "proposed" | "approved" | "running" | "done" | "failed" | "cancelled";

/** A plan as a conversation keeps it; its runs are kept beside it. */
export interface PlanRecord {
  readonly id: string;
  readonly status: PlanStatus;
  readonly plan: Plan;
  /** Whose tools it calls. */
  readonly agent: string;
  /** The model that wrote it had been shown what is not trusted. */
  readonly tainted?: boolean;
  /** By the id of a call: those that come before it. */
  readonly after: Readonly<Record<string, readonly string[]>>;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** A run with what it was given, and what it came to. */
export interface StoredRun {
  readonly record: RunRecord;
  readonly input: Json;
  /** Undefined until it has ended. */
  readonly state: Json | undefined;
}

/** A run, with its values or without. */
export type ShownRun = Pick<StoredRun, "record"> & Partial<StoredRun>;

/** The plans of a conversation, and their runs. The tables are made when the first plan comes. */
export class PlanStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Was there ever a plan, and so perhaps a run? */
  get isUsed(): boolean {
    return hasTable(this.#sql, "plan");
  }

  /** Throws `limit_exceeded`. Of many plans the oldest goes that is over. */
  add(record: PlanRecord): void {
    requireSmall(JSON.stringify(record));
    this.#makeTables();
    this.#makeRoom();
    this.#sql.run(`INSERT INTO plan (id, data) VALUES (?, ?)`, record.id, JSON.stringify(record));
  }

  /** Throws `plan_not_found`. */
  setStatus(id: string, status: PlanStatus): void {
    const data = JSON.stringify({ ...this.required(id), status });
    this.#sql.run(`UPDATE plan SET data = ? WHERE id = ?`, data, id);
  }

  get(id: string): PlanRecord | undefined {
    if (!this.isUsed) return undefined;
    return planIn(firstRow(this.#sql, `SELECT data FROM plan WHERE id = ?`, id));
  }

  /** Throws `plan_not_found`. */
  required(id: string): PlanRecord {
    const record = this.get(id);
    if (record !== undefined) return record;
    throw planNotFound(id);
  }

  /** Oldest first. */
  list(): readonly PlanRecord[] {
    if (!this.isUsed) return [];
    return this.#sql.all(`SELECT data FROM plan ORDER BY seq`).flatMap((row) => planIn(row) ?? []);
  }

  /** Of many runs of a plan the oldest goes that is over. */
  addRun(record: RunRecord, input: Json): void {
    const given = JSON.stringify(input);
    this.#sql.run(
      `DELETE FROM plan_run WHERE plan = ? AND open = 0 AND seq <=
         (SELECT seq FROM plan_run WHERE plan = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
      record.plan,
      record.plan,
      limits.maxPlanRuns - 1,
    );
    this.#sql.run(
      `INSERT INTO plan_run (id, plan, open, input, data) VALUES (?, ?, 1, ?, ?)`,
      record.id,
      record.plan,
      given,
      JSON.stringify(record),
    );
  }

  saveRun(record: RunRecord): void {
    const data = JSON.stringify(record);
    this.#sql.run(
      `UPDATE plan_run SET data = ?, open = ? WHERE id = ?`,
      data,
      isOpenRun(record) ? 1 : 0,
      record.id,
    );
  }

  /** What the run came to. */
  saveState(run: string, state: Json): void {
    this.#sql.run(`UPDATE plan_run SET state = ? WHERE id = ?`, JSON.stringify(state), run);
  }

  run(id: string): StoredRun | undefined {
    if (!this.isUsed) return undefined;
    const row = firstRow(this.#sql, `SELECT input, data, state FROM plan_run WHERE id = ?`, id);
    return row === undefined ? undefined : runIn(row);
  }

  /** Of the newest run. */
  newestRun(plan: string): RunRecord | undefined {
    if (!this.isUsed) return undefined;
    const newest = `SELECT data FROM plan_run WHERE plan = ? ORDER BY seq DESC LIMIT 1`;
    const row = firstRow(this.#sql, newest, plan);
    return row === undefined ? undefined : recordIn(row);
  }

  /** Oldest first; what is over so many characters, counted from the newest, comes without values. */
  runsOf(plan: string, maxChars: number): readonly ShownRun[] {
    if (!this.isUsed) return [];
    const rows = this.#sql.all(
      `SELECT id, data, length(input) + length(coalesce(state, '')) AS chars
       FROM plan_run WHERE plan = ? ORDER BY seq DESC`,
      plan,
    );
    let left = maxChars;
    const shown = rows.map((row): ShownRun => {
      left -= numberIn(row, "chars");
      const whole = left < 0 ? undefined : this.run(textIn(row, "id"));
      return whole ?? { record: recordIn(row) };
    });
    return shown.toReversed();
  }

  /** Those that go on, or wait for a person; oldest first. */
  openRuns(): readonly RunRecord[] {
    if (!this.isUsed) return [];
    return this.#sql.all(`SELECT data FROM plan_run WHERE open = 1 ORDER BY seq`).map(recordIn);
  }

  /** Throws `limit_exceeded` if as many runs of the plan go on or wait as may. */
  requireRoom(plan: string): void {
    const open = this.openRuns().filter((record) => record.plan === plan).length;
    const maximum = limits.maxPlanRuns;
    if (open < maximum) return;
    const advice = "Decide on what waits, or cancel it.";
    throw limitExceeded("maxPlanRuns", { maximum, actual: open + 1, advice });
  }

  #makeRoom(): void {
    const row = firstRow(this.#sql, `SELECT count(*) AS plans FROM plan`);
    if (row === undefined || numberIn(row, "plans") < limits.maxPlans) return;
    const oldest = this.list().find(({ status }) => isOver(status));
    if (oldest === undefined) {
      const advice = "Cancel plans that nobody needs.";
      throw limitExceeded("maxPlans", {
        maximum: limits.maxPlans,
        actual: limits.maxPlans + 1,
        advice,
      });
    }
    this.#sql.run(`DELETE FROM plan_run WHERE plan = ?`, oldest.id);
    this.#sql.run(`DELETE FROM plan WHERE id = ?`, oldest.id);
  }

  #makeTables(): void {
    this.#sql.run(
      `CREATE TABLE IF NOT EXISTS plan
       (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, data TEXT NOT NULL)`,
    );
    this.#sql.run(
      `CREATE TABLE IF NOT EXISTS plan_run
       (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, plan TEXT NOT NULL, open INTEGER NOT NULL,
        input TEXT NOT NULL, data TEXT NOT NULL, state TEXT)`,
    );
  }
}

export function planNotFound(id: string): ByrefError {
  return new ByrefError("plan_not_found", `There is no plan ${id.slice(0, 80)}.`);
}

function isOver(status: PlanStatus): boolean {
  return status === "done" || status === "failed" || status === "cancelled";
}

function requireSmall(data: string): void {
  const actual = byteLength(data);
  const advice = "Keep long data in variables, and refer to them.";
  requireAtMost(["maxPlanBytes", limits.maxPlanBytes], actual, advice);
}

function planIn(row: SqlRow | undefined): PlanRecord | undefined {
  // `add` and `setStatus` wrote it.
  return row === undefined ? undefined : (JSON.parse(textIn(row, "data")) as PlanRecord);
}

function recordIn(row: SqlRow): RunRecord {
  // `addRun` and `saveRun` wrote it.
  return JSON.parse(textIn(row, "data")) as RunRecord;
}

function runIn(row: SqlRow): StoredRun {
  const state = optionalTextIn(row, "state");
  // `addRun` and `saveState` wrote them.
  return {
    record: recordIn(row),
    input: parsedJson(textIn(row, "input")),
    state: state === undefined ? undefined : parsedJson(state),
  };
}
