import { parseExactly } from "../../../../src/value/exact-number.ts";
import * as limits from "../../../../src/limits.ts";
import {
  type PlanRecord,
  type PlanStatus,
  type StoredRun,
  isOpenRun,
  type RunRecord,
} from "./plan-record.ts";
import {
  firstRow,
  optionalTextIn,
  type Sql,
  type SqlRow,
  textIn,
} from "../../../../src/store/rows/sql.ts";
import { clip } from "../../../../src/value/characters.ts";
import { parsedJson } from "../../../../src/value/json.ts";

/** The text of a plan in lists. Leaves out the calls if they are too long for a list. */
export function listedText({ plan, status: _status, ...record }: PlanRecord): string {
  const { name, format } = plan;
  const calls = plan.calls.map(({ parameters: _parameters, ...call }) => call);
  const whole = JSON.stringify({ ...record, name, format, calls });
  if (whole.length <= limits.maxPieceChars) return whole;
  const short = name === undefined ? {} : { name: clip(name, limits.maxLineChars) };
  return JSON.stringify({ ...record, ...short, format, calls: [], after: {}, omitted: true });
}

export function openness(record: RunRecord): number {
  if (record.status === "waiting") return 2;
  return isOpenRun(record) ? 1 : 0;
}

export function statusIn(row: SqlRow): PlanStatus {
  // `#addHead` and `setStatus` wrote it.
  return textIn(row, "status") as PlanStatus;
}

export function planIn(row: SqlRow): PlanRecord {
  // `add` wrote it.
  return parseExactly(textIn(row, "data")) as PlanRecord;
}

export function recordIn(row: SqlRow): RunRecord {
  // `addRun` and `saveRun` wrote it.
  return parseExactly(textIn(row, "data")) as RunRecord;
}

export function runIn(row: SqlRow): StoredRun {
  const state = optionalTextIn(row, "state");
  // `addRun` and `saveState` wrote them.
  return {
    record: recordIn(row),
    input: parsedJson(textIn(row, "input")),
    state: state === undefined ? undefined : parsedJson(state),
  };
}

/** A run without the states of its calls, which are not loaded. */
export function shortRecordIn(sql: Sql, id: string): RunRecord {
  const columns = ["status", "createdAt"].map((key) => `json_extract(data, '$.${key}') AS ${key}`);
  const row =
    firstRow(sql, `SELECT plan, ${columns.join(", ")} FROM plan_run WHERE id = ?`, id) ?? {};
  return {
    id,
    plan: textIn(row, "plan"),
    status: textIn(row, "status") as RunRecord["status"],
    createdAt: textIn(row, "createdAt"),
    calls: {},
    gates: {},
    keep: false,
    needs: [],
  };
}
