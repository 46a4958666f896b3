import { lazy, type ReactNode, Suspense, useState } from "react";
import { Segments } from "../controls.tsx";
import { RecordTable } from "./record-table.tsx";
import { columnsOf, isRecord, type Row } from "./records.ts";
import type { Records } from "./use-records.ts";

// Loaded on demand: most variables are never drawn.
const RecordsChart = lazy(() => import("../chart/records-chart.tsx"));

interface RecordsProps {
  readonly records: Records;
  readonly name: string;
}

export function ChartOfRecords(props: RecordsProps) {
  return (
    <Suspense fallback={<p className="variables-wait">Loading…</p>}>
      <RecordsChart {...props} />
    </Suspense>
  );
}

interface RecordFormsProps extends RecordsProps {
  /** Name of the choice, for screen readers. */
  readonly label?: string;
  /** The value as a tree; undefined if it cannot be shown as one. */
  readonly tree?: ReactNode;
}

type Form = "Table" | "Chart" | "Tree";

/** Shows records in the form that suits them, or that the user chooses. */
export function RecordForms({ records, name, label = "Shown as", tree }: RecordFormsProps) {
  const [chosen, setChosen] = useState<Form>();
  const hasNumbers = records.columns.some(({ isNumeric }) => isNumeric);
  const forms: readonly Form[] = [
    "Table",
    ...(hasNumbers && records.count > 1 ? (["Chart"] as const) : []),
    ...(tree === undefined ? [] : (["Tree"] as const)),
  ];
  const isTable =
    hasNumbers || tree === undefined || records.rows.every(({ value }) => isRecord(value));
  const form = chosen ?? (isTable ? "Table" : "Tree");
  return (
    <>
      <Segments label={label} values={forms} value={form} onChoose={setChosen} />
      {form === "Table" && <RecordTable records={records} name={name} />}
      {form === "Chart" && <ChartOfRecords records={records} name={name} />}
      {form === "Tree" && tree}
    </>
  );
}

/** Records that are completely in memory. */
export function heldRecords(values: readonly Row["value"][]): Records {
  const rows = values.map((value, index) => ({ index, value }));
  const whole = { isWhole: true, mayBeWhole: true, need: () => undefined };
  const columns = columnsOf(rows);
  return { ...whole, count: rows.length, bytes: 0, columns, rows, at: (index) => rows[index] };
}
