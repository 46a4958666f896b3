import * as limits from "../../../../src/limits.ts";
import {
  type PlanRecord,
  type PlanStatus,
  type StoredRun,
  isOpenRun,
  type RunRecord,
} from "./plan-record.ts";
import { characters, exactNumbers, json, type Sql, sqlRows } from "../../../../src/internal.ts";

/** The text of a plan in lists. Leaves out the calls if they are too long for a list. */
export function listedText({
  plan,
  status: _status,
  notes: _notes,
  ...record
}: PlanRecord): string {
  const { name, format } = plan;
  const calls = plan.calls.map(({ parameters: _parameters, ...call }) => call);
  const whole = JSON.stringify({ ...record, name, format, calls });
  if (whole.length <= limits.maxPieceChars) return whole;
  const short = name === undefined ? {} : { name: characters.clip(name, limits.maxLineChars) };
  return JSON.stringify({ ...record, ...short, format, calls: [], after: {}, omitted: true });
}

export function openness(record: RunRecord): number {
  if (record.status === "waiting") return 2;
  return isOpenRun(record) ? 1 : 0;
}

export function statusIn(row: sqlRows.SqlRow): PlanStatus {
  // `#addHead` and `setStatus` wrote it.
  return sqlRows.textIn(row, "status") as PlanStatus;
}

export function planIn(row: sqlRows.SqlRow): PlanRecord {
  // `add` wrote it.
  return exactNumbers.parseExactly(sqlRows.textIn(row, "data")) as PlanRecord;
}

export function recordIn(row: sqlRows.SqlRow): RunRecord {
  // `addRun` and `saveRun` wrote it.
  return exactNumbers.parseExactly(sqlRows.textIn(row, "data")) as RunRecord;
}

export function runIn(row: sqlRows.SqlRow): StoredRun {
  const state = sqlRows.optionalTextIn(row, "state");
  // `addRun` and `saveState` wrote them.
  return {
    record: recordIn(row),
    input: json.parsedJson(sqlRows.textIn(row, "input")),
    state: state === undefined ? undefined : json.parsedJson(state),
  };
}

/** A run without the states of its calls, which are not loaded. */
export function shortRecordIn(sql: Sql, id: string): RunRecord {
  const columns = ["status", "createdAt"].map((key) => `json_extract(data, '$.${key}') AS ${key}`);
  const row =
    sqlRows.firstRow(sql, `SELECT plan, ${columns.join(", ")} FROM plan_run WHERE id = ?`, id) ??
    {};
  return {
    id,
    plan: sqlRows.textIn(row, "plan"),
    status: sqlRows.textIn(row, "status") as RunRecord["status"],
    createdAt: sqlRows.textIn(row, "createdAt"),
    calls: {},
    gates: {},
    keep: false,
    needs: [],
  };
}
