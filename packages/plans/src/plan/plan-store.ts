import * as limits from "../../../../src/limits.ts";
import { ByrefError, limitExceeded, requireAtMost } from "../../../../src/errors.ts";
import {
  type ListedPlanRecord,
  type PlanRecord,
  type PlanStatus,
  type ShownRun,
  type StoredRun,
  type RunRecord,
  isOpenRun,
} from "./plan-record.ts";
import { encoding, sqlRows, characters, exactNumbers, json } from "../../../../src/internal.ts";
import type { Identity } from "../../../../src/runtime.ts";
import type { Json } from "../../../../src/references.ts";

/** The plans of a conversation and their runs. Creates its tables for the first plan. */
export class PlanStore {
  readonly #sql: sqlRows.Sql;
  readonly #onDeleted: (run: RunRecord) => void;

  /** `onDeleted` is called for each run that a newer one or a newer plan replaces, within the change. */
  constructor(sql: sqlRows.Sql, onDeleted: (run: RunRecord) => void = () => undefined) {
    this.#sql = sql;
    this.#onDeleted = onDeleted;
  }

  /** True if there ever was a plan. */
  get isUsed(): boolean {
    return sqlRows.hasTable(this.#sql, "plan_head");
  }

  /**
   * Adds a plan. At the limit, deletes the oldest finished plan. Throws `limit_exceeded` if there is none, or
   * if the plan is too large.
   */
  add(record: PlanRecord): void {
    const data = JSON.stringify(record);
    const advice = "Keep long data in variables, and refer to them.";
    requireAtMost("maxRecordBytes", encoding.byteLength(data), advice);
    if (!this.isUsed) for (const table of TABLES) this.#sql.run(table);
    this.#makeRoom();
    this.#sql.run(`INSERT INTO plan (id, data) VALUES (?, ?)`, record.id, data);
    this.#sql.run(
      `INSERT INTO plan_head (id, status, listed) VALUES (?, ?, ?)`,
      record.id,
      record.status,
      listedText(record),
    );
  }

  /** Writes only the status. Throws `not_found`. */
  setStatus(id: string, status: PlanStatus): void {
    this.statusOf(id);
    this.#sql.run(`UPDATE plan_head SET status = ? WHERE id = ?`, status, id);
  }

  /** Reads the status without the plan. Throws `not_found`. */
  statusOf(id: string): PlanStatus {
    const [row] = this.#rows(`SELECT status FROM plan_head WHERE id = ?`, id);
    if (row === undefined) throw planNotFound(id);
    return statusIn(row);
  }

  get(id: string): PlanRecord | undefined {
    const both = `SELECT data, status FROM plan JOIN plan_head USING (id) WHERE id = ?`;
    const [row] = this.#rows(both, id);
    // `add` wrote it.
    const parsed = row && (exactNumbers.parseExactly(sqlRows.textIn(row, "data")) as PlanRecord);
    return parsed && { ...parsed, status: statusIn(row) };
  }

  /** Reads a plan. Throws `not_found`. */
  required(id: string): PlanRecord {
    const record = this.get(id);
    if (record !== undefined) return record;
    throw planNotFound(id);
  }

  ids(): readonly string[] {
    return this.#rows(`SELECT id FROM plan_head ORDER BY seq`).map((row) =>
      sqlRows.textIn(row, "id"),
    );
  }

  /** Plans, oldest first. Plans beyond `maxChars`, counted from the newest, come without their calls. */
  list(maxChars: number): readonly ListedPlanRecord[] {
    const rows = this.#rows(
      `SELECT id, status, listed, run, coalesce(run_chars, 0) AS run_chars
       FROM plan_head LEFT JOIN (
         SELECT plan, max(seq) AS run, octet_length(data) AS run_chars FROM plan_run GROUP BY plan
       ) ON plan = id ORDER BY plan_head.seq DESC`,
    );
    let left = maxChars;
    const listed = rows.map((row): ListedPlanRecord => {
      const text = sqlRows.textIn(row, "listed");
      left -= encoding.byteLength(text) + sqlRows.numberIn(row, "run_chars");
      // `add` wrote it.
      const record = { ...(JSON.parse(text) as ListedPlanRecord), status: statusIn(row) };
      if (left < 0) return { ...record, calls: [], after: {}, omitted: true };
      const newest = row.run === null ? undefined : this.newestRun(record.id);
      return newest === undefined ? record : { ...record, newest };
    });
    return listed.toReversed();
  }

  /** Adds a run. At the limit, deletes the plan's oldest finished run. `asker` is not a part of the record. */
  addRun(record: RunRecord, input: Json, asker?: Identity): void {
    const given = JSON.stringify(input);
    const oldest = this.#sql.all(
      `SELECT id FROM plan_run WHERE plan = ? AND open = 0 AND seq <=
         (SELECT seq FROM plan_run WHERE plan = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
      record.plan,
      record.plan,
      limits.maxPlanRuns - 1,
    );
    this.#deleteRuns(oldest);
    this.#sql.run(
      `INSERT INTO plan_run (id, plan, open, input, data) VALUES (?, ?, ?, ?, ?)`,
      record.id,
      record.plan,
      openness(record),
      given,
      JSON.stringify(record),
    );
    this.#saveAsker(record.id, asker);
  }

  /** Opens a run that has ended again. */
  reopenRun(record: RunRecord, asker?: Identity): void {
    this.saveRun(record);
    this.saveState(record.id, null);
    this.#saveAsker(record.id, asker);
  }

  #saveAsker(run: string, asker: Identity | undefined): void {
    if (asker?.principal === undefined && asker?.claims === undefined) return;
    this.#sql.run(
      `CREATE TABLE IF NOT EXISTS run_asker (run TEXT PRIMARY KEY, asker TEXT NOT NULL)`,
    );
    this.#sql.run(
      `DELETE FROM run_asker WHERE run NOT IN (SELECT id FROM plan_run WHERE open > 0)`,
    );
    this.#sql.run(`REPLACE INTO run_asker VALUES (?, ?)`, run, JSON.stringify(asker));
  }

  /** Who asked for an open run, if the authenticator said more than the tenant. */
  askerOf(run: string): Identity | undefined {
    if (!sqlRows.hasTable(this.#sql, "run_asker")) return undefined;
    const [row] = this.#rows(`SELECT asker FROM run_asker WHERE run = ?`, run);
    // `addRun` wrote it.
    return row && (JSON.parse(sqlRows.textIn(row, "asker")) as Identity);
  }

  saveRun(record: RunRecord): void {
    const data = JSON.stringify(record);
    this.#sql.run(
      `UPDATE plan_run SET data = ?, open = ? WHERE id = ?`,
      data,
      openness(record),
      record.id,
    );
  }

  /** Stores the result of a run; null while it is open. */
  saveState(run: string, state: Json): void {
    this.#sql.run(`UPDATE plan_run SET state = ? WHERE id = ?`, JSON.stringify(state), run);
  }

  run(id: string): StoredRun | undefined {
    const [row] = this.#rows(`SELECT input, data, state FROM plan_run WHERE id = ?`, id);
    return row && runIn(row);
  }

  newestRun(plan: string): RunRecord | undefined {
    const newest = `SELECT data FROM plan_run WHERE plan = ? ORDER BY seq DESC LIMIT 1`;
    return this.#rows(newest, plan).map(recordIn)[0];
  }

  /**
   * Runs of a plan, oldest first. Runs beyond `maxChars`, counted from the newest, come without values and
   * without the states of their calls.
   */
  runsOf(plan: string, maxChars: number): readonly ShownRun[] {
    const rows = this.#rows(
      `SELECT id, octet_length(data) + octet_length(input) + octet_length(coalesce(state, '')) AS chars
       FROM plan_run WHERE plan = ? ORDER BY seq DESC`,
      plan,
    );
    let left = maxChars;
    const shown = rows.map((row): ShownRun => {
      const id = sqlRows.textIn(row, "id");
      left -= sqlRows.numberIn(row, "chars");
      const whole = left < 0 ? undefined : this.run(id);
      return whole ?? { record: shortRecordIn(this.#sql, id) };
    });
    return shown.toReversed();
  }

  /**
   * Runs that continue or wait for a person, of one plan or of all, oldest first. Holds one in memory at a
   * time.
   */
  *openRuns(plan?: string): Generator<RunRecord> {
    const rows = this.#rows(
      `SELECT id FROM plan_run WHERE open > 0 AND plan = coalesce(?, plan) ORDER BY seq`,
      plan ?? null,
    );
    for (const row of rows) yield* this.#record(row);
  }

  /** The rows of a statement; none before the first plan. */
  #rows(statement: string, ...bindings: readonly sqlRows.SqlValue[]): readonly sqlRows.SqlRow[] {
    return this.isUsed ? this.#sql.all(statement, ...bindings) : [];
  }

  /** The run whose id is in the row, if it still exists. */
  #record({ id = null }: sqlRows.SqlRow): readonly RunRecord[] {
    return this.#rows(`SELECT data FROM plan_run WHERE id = ?`, id).map(recordIn);
  }

  /** Runs in progress: at most one, unless a crash cut one off. */
  runningRuns(): readonly RunRecord[] {
    return this.#sql.all(`SELECT data FROM plan_run WHERE open = 1`).map(recordIn);
  }

  hasWaiting(): boolean {
    return this.#rows(`SELECT 1 FROM plan_run WHERE open = 2 LIMIT 1`).length > 0;
  }

  /** Counts the plan's runs that continue or wait for a person. `but` is excluded. */
  countOpen(plan: string, but = ""): number {
    return this.#rows(`SELECT 1 FROM plan_run WHERE plan = ? AND id <> ? AND open > 0`, plan, but)
      .length;
  }

  /** Throws `limit_exceeded` if the plan, or all plans together, have the maximum of open runs. */
  requireRoom(plan: string): void {
    const advice = "Decide its pending approvals, or cancel it.";
    const open = this.#rows(`SELECT 1 FROM plan_run WHERE open > 0`).length;
    requireAtMost("maxPlanRuns", this.countOpen(plan) + 1, advice);
    requireAtMost("maxBatchItems", open + 1, advice);
  }

  #makeRoom(): void {
    const maximum = limits.maxPlanItems;
    if (this.ids().length < maximum) return;
    const [oldest] = this.#rows(
      `SELECT id FROM plan_head WHERE status IN ('done', 'failed', 'cancelled') ORDER BY seq LIMIT 1`,
    );
    if (oldest === undefined) {
      const advice = "Cancel plans that are no longer needed.";
      throw limitExceeded("maxPlanItems", { maximum, actual: maximum + 1, advice });
    }
    const id = sqlRows.textIn(oldest, "id");
    this.#deleteRuns(this.#sql.all(`SELECT id FROM plan_run WHERE plan = ?`, id));
    this.#sql.run(`DELETE FROM plan WHERE id = ?`, id);
    this.#sql.run(`DELETE FROM plan_head WHERE id = ?`, id);
  }

  /** Loads one at a time, because all together may not fit into memory. */
  #deleteRuns(rows: readonly sqlRows.SqlRow[]): void {
    for (const row of rows) {
      for (const run of this.#record(row)) this.#onDeleted(run);
      this.#sql.run(`DELETE FROM plan_run WHERE id = ?`, sqlRows.textIn(row, "id"));
    }
  }
}

const TABLES = [
  `CREATE TABLE IF NOT EXISTS plan (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, data TEXT NOT NULL)`,
  // `open`: 1 for a run in progress, 2 for a run that waits for a person.
  `CREATE TABLE IF NOT EXISTS plan_run
   (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, plan TEXT NOT NULL, open INTEGER NOT NULL,
    input TEXT NOT NULL, data TEXT NOT NULL, state TEXT)`,
  // The fields that change, and those that lists show. The status in a plan's data is its first status only.
  `CREATE TABLE IF NOT EXISTS plan_head
   (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, listed TEXT NOT NULL)`,
];

export function planNotFound(id: string): ByrefError {
  return new ByrefError("not_found", `There is no plan ${id.slice(0, 80)}.`);
}

/** The text of a plan in lists. Leaves out the calls if they are too long for a list. */
function listedText({ plan, status: _status, notes: _notes, ...record }: PlanRecord): string {
  const { name, format } = plan;
  const calls = plan.calls.map(({ parameters: _parameters, ...call }) => call);
  const whole = JSON.stringify({ ...record, name, format, calls });
  if (whole.length <= limits.maxPieceChars) return whole;
  const short = name === undefined ? {} : { name: characters.clip(name, limits.maxLineChars) };
  return JSON.stringify({ ...record, ...short, format, calls: [], after: {}, omitted: true });
}

function openness(record: RunRecord): number {
  if (record.status === "waiting") return 2;
  return isOpenRun(record) ? 1 : 0;
}

function statusIn(row: sqlRows.SqlRow): PlanStatus {
  // `add` and `setStatus` wrote it.
  return sqlRows.textIn(row, "status") as PlanStatus;
}

function recordIn(row: sqlRows.SqlRow): RunRecord {
  // `addRun` and `saveRun` wrote it.
  return exactNumbers.parseExactly(sqlRows.textIn(row, "data")) as RunRecord;
}

function runIn(row: sqlRows.SqlRow): StoredRun {
  const state = sqlRows.optionalTextIn(row, "state");
  // `addRun` and `saveState` wrote them.
  return {
    record: recordIn(row),
    input: json.parsedJson(sqlRows.textIn(row, "input")),
    state: state === undefined ? undefined : json.parsedJson(state),
  };
}

/** A run without the states of its calls, which are not loaded. */
function shortRecordIn(sql: sqlRows.Sql, id: string): RunRecord {
  const short = `SELECT json_remove(data, '$.calls', '$.gates', '$.needs') AS data FROM plan_run WHERE id = ?`;
  const record = recordIn(sqlRows.firstRow(sql, short, id) ?? {});
  return { ...record, calls: {}, gates: {}, needs: [] };
}
