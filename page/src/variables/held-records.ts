import { columnsOf, type Row } from "./records.ts";
import type { Records } from "./use-records.ts";

/** Records that are completely in memory. */
export function heldRecords(values: readonly Row["value"][]): Records {
  const rows = values.map((value, index) => ({ index, value }));
  return {
    count: rows.length,
    bytes: 0,
    columns: columnsOf(rows),
    rows,
    at: (index) => rows[index],
    isWhole: true,
    mayBeWhole: true,
    need: () => undefined,
  };
}
