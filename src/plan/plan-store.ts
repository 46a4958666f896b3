import { limitExceeded } from "../errors.ts";
import { limits } from "../limits.ts";
import { firstRow, type Sql, type SqlRow, textIn } from "../store/sql.ts";
import { byteLength } from "../value/utf8.ts";
import type { Plan } from "./plan.ts";
import type { RunRecord } from "./run-record.ts";

export type PlanStatus = "proposed" | "approved" | "running" | "done" | "failed" | "cancelled";

/** A plan as a conversation keeps it; its runs are kept beside it. */
export interface PlanRecord {
  readonly id: string;
  readonly status: PlanStatus;
  readonly plan: Plan;
  /** Whose tools it calls. */
  readonly agent: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** The plans of a conversation, and their runs. The tables are made when the first plan comes. */
export class PlanStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** In the place of the one of this id, if there is one. Throws `limit_exceeded`. */
  save(record: PlanRecord): void {
    const data = JSON.stringify(record);
    const actual = byteLength(data);
    if (actual > limits.maxPlanBytes) {
      const advice = "Keep long data in variables, and refer to them.";
      throw limitExceeded("maxPlanBytes", { maximum: limits.maxPlanBytes, actual, advice });
    }
    this.#makeTables();
    this.#sql.run(
      `INSERT INTO plan (id, data) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data`,
      record.id,
      data,
    );
  }

  get(id: string): PlanRecord | undefined {
    if (!this.#hasTables()) return undefined;
    return planIn(firstRow(this.#sql, `SELECT data FROM plan WHERE id = ?`, id));
  }

  /** Oldest first. */
  list(): readonly PlanRecord[] {
    if (!this.#hasTables()) return [];
    return this.#sql.all(`SELECT data FROM plan ORDER BY seq`).flatMap((row) => planIn(row) ?? []);
  }

  saveRun(record: RunRecord): void {
    this.#makeTables();
    this.#sql.run(
      `INSERT INTO plan_run (id, plan, data) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET data = excluded.data`,
      record.id,
      record.plan,
      JSON.stringify(record),
    );
  }

  run(id: string): RunRecord | undefined {
    if (!this.#hasTables()) return undefined;
    return runIn(firstRow(this.#sql, `SELECT data FROM plan_run WHERE id = ?`, id));
  }

  /** Oldest first. */
  runsOf(plan: string): readonly RunRecord[] {
    if (!this.#hasTables()) return [];
    return this.#sql
      .all(`SELECT data FROM plan_run WHERE plan = ? ORDER BY seq`, plan)
      .flatMap((row) => runIn(row) ?? []);
  }

  #hasTables(): boolean {
    return (
      firstRow(this.#sql, `SELECT 1 AS found FROM sqlite_master WHERE name = 'plan'`) !== undefined
    );
  }

  #makeTables(): void {
    this.#sql.run(
      `CREATE TABLE IF NOT EXISTS plan
       (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, data TEXT NOT NULL)`,
    );
    this.#sql.run(
      `CREATE TABLE IF NOT EXISTS plan_run
       (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, plan TEXT NOT NULL, data TEXT NOT NULL)`,
    );
  }
}

function planIn(row: SqlRow | undefined): PlanRecord | undefined {
  // `save` wrote it.
  return row === undefined ? undefined : (JSON.parse(textIn(row, "data")) as PlanRecord);
}

function runIn(row: SqlRow | undefined): RunRecord | undefined {
  // `saveRun` wrote it.
  return row === undefined ? undefined : (JSON.parse(textIn(row, "data")) as RunRecord);
}
