import { permute, sort } from "d3-array";
import { useEffect, useMemo, useState } from "react";
import { Segments } from "../controls.tsx";
import type { Row } from "../variables/records.ts";
import type { Records } from "../variables/use-records.ts";
import { figure } from "../words.ts";
import { Chart } from "./chart.tsx";
import {
  type ChartChoice,
  comparable,
  firstChoice,
  placesOf,
  seriesOf,
  toggled,
  xColumns,
  yColumns,
} from "./chart-series.ts";

interface RecordsChartProps {
  readonly records: Records;
  readonly name: string;
}

/** Maximum rows of a chart. */
const MAX_ROWS = 5_000;

/** A chart of an array of records, with controls for its x axis, series and kind. */
export default function RecordsChart({ records, name }: RecordsChartProps) {
  const { need, count } = records;
  const wanted = Math.min(count, MAX_ROWS);
  useEffect(() => {
    need(0, wanted);
  }, [need, wanted]);
  const rows = useMemo(
    () => records.rows.filter(({ index }) => index < wanted),
    [records.rows, wanted],
  );
  if (rows.length < wanted) return <p className="variables-wait">Loading…</p>;
  return (
    <>
      <ChosenChart rows={rows} records={records} name={name} />
      {count > wanted ? (
        <p className="variables-hint">
          The first {figure(wanted)} of {figure(count)} rows.
        </p>
      ) : null}
    </>
  );
}

interface ChosenChartProps extends RecordsChartProps {
  readonly rows: readonly Row[];
}

function ChosenChart({ rows, records, name }: ChosenChartProps) {
  const { columns } = records;
  const [choice, setChoice] = useState<ChartChoice>(() => firstChoice(columns, rows));
  const { x, y, form } = choice;
  const drawn = useMemo(() => {
    const { times } = placesOf(rows, x);
    // A line follows time, whatever the order of the rows.
    const order = times
      ? permute(
          rows,
          sort(rows.keys(), (at) => times[at]),
        )
      : rows;
    return { ...placesOf(order, x), groups: comparable(seriesOf(order, y)) };
  }, [rows, x, y]);
  const { labels, times, groups } = drawn;
  const height = groups.length > 1 ? LOW : undefined;
  return (
    <div className="chart-chosen">
      <Choices
        choice={choice}
        x={xColumns(columns, rows)}
        y={yColumns(columns)}
        onChoose={setChoice}
      />
      {groups.map((series) => {
        const names = series.map((one) => one.name).join(", ");
        const label = `${names} of $${name} by ${x ?? "row"}`;
        return <Chart key={names} {...{ form, label, labels, times, series, height }} />;
      })}
    </div>
  );
}

/** Height of a chart among several, in pixels. */
const LOW = 190;

interface ChoicesProps {
  readonly choice: ChartChoice;
  readonly x: readonly string[];
  readonly y: readonly string[];
  readonly onChoose: (choice: ChartChoice) => void;
}

const FORMS = ["Bars", "Line"] as const;

function Choices({ choice, x, y, onChoose }: ChoicesProps) {
  return (
    <div className="chart-choices">
      <label className="chart-choice">
        X axis
        <select
          value={choice.x ?? ""}
          onChange={({ target }) => onChoose({ ...choice, x: target.value || undefined })}
        >
          {x.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
          <option value="">row number</option>
        </select>
      </label>
      <div className="chart-columns" role="group" aria-label="Columns to draw, at most four">
        {y.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={choice.y.includes(name)}
            onClick={() => onChoose({ ...choice, y: toggled(choice.y, name) })}
          >
            {name}
          </button>
        ))}
      </div>
      <Segments
        label="Chart type"
        values={FORMS}
        value={choice.form === "bar" ? "Bars" : "Line"}
        onChoose={(form) => onChoose({ ...choice, form: form === "Bars" ? "bar" : "line" })}
      />
    </div>
  );
}
