import { bisector, extent, mean, nice, permute, range, sort, ticks } from "d3-array";
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useState } from "react";
import { utcTicks } from "d3-time";
import { useWidth } from "../hooks.ts";
import { digitsOf, figure, LOCALE, numberWords, shortened } from "../words.ts";
import type { Json } from "../../../src/value/json.ts";
import { cellOf, type Column, type Row } from "../variables/records.ts";
import { Segments } from "../controls.tsx";
import type { Records } from "../variables/use-records.ts";
import "./chart.css";

const FORMS = ["Bars", "Line"] as const;
type Form = (typeof FORMS)[number];

interface ChartProps {
  /** Bars are from zero, those of several series side by side. Each series has a line of its own. */
  readonly form: Form;
  /** Text alternative for screen readers. */
  readonly label: string;
  /** One for each place along x. */
  readonly labels: readonly string[];
  /** Times of the places in milliseconds, ascending. Distances of lines are then proportional to time. */
  readonly times: readonly number[] | undefined;
  /** At most four. */
  readonly series: readonly Series[];
}

/** In pixels. */
const HEIGHT = 260;
const MARGIN = { top: 10, right: 10, bottom: 26 };
const GAP = 0.24;

/** Bars of one series among `count`. */
function barPath(
  all: Series["values"],
  along: Scale & { readonly band: number },
  values: Scale,
  { at, count }: { readonly at: number; readonly count: number },
): string {
  const bar = (along.band * (1 - GAP)) / count;
  const zero = round(values.place(0));
  const path = all.map((value, index) => {
    if (value === null) return "";
    const left = round(along.place(index) + (at - count / 2) * bar);
    return `M${left} ${zero}V${round(values.place(value))}h${round(Math.max(bar - 1, 0.5))}V${zero}z`;
  });
  return path.join("");
}

/** A line that is interrupted at missing values. */
function linePath(all: Series["values"], along: Scale, values: Scale): string {
  const path = all.map((value, index) => {
    if (value === null) return "";
    const move = typeof all[index - 1] === "number" ? "L" : "M";
    return `${move}${round(along.place(index))} ${round(values.place(value))}`;
  });
  return path.join("");
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

function Chart(props: ChartProps) {
  const { form, label, labels, times, series } = props;
  const [element, fullWidth] = useWidth();
  const [pointed, setPointed] = useState<number>();
  const plotHeight = HEIGHT - MARGIN.top - MARGIN.bottom;
  const values = valueScale(series, { height: plotHeight, fromZero: form === "Bars" });
  const left = Math.max(...values.ticks.map(({ label }) => label.length), 1) * CHAR_WIDTH + 10;
  const width = Math.max(0, fullWidth - left - MARGIN.right);
  const bands = bandScale(labels, width);
  const scale = form === "Bars" || times === undefined ? bands : timeScale(times, width);
  const at = pointed !== undefined && pointed < labels.length ? pointed : undefined;
  const point = ({ clientX, currentTarget }: PointerEvent) => {
    const x = clientX - currentTarget.getBoundingClientRect().left - left;
    if (labels.length > 0) setPointed(bisector(scale.place).center(range(labels.length), x));
  };
  const step = (event: KeyboardEvent) => {
    const next = stepTo(event.key, at, labels.length);
    if (next === undefined) return;
    event.preventDefault();
    setPointed(next);
  };
  return (
    <figure className="chart">
      <Legend {...props} at={at} />
      <div
        className="chart-plot"
        ref={element}
        tabIndex={0}
        role="group"
        aria-label={`${label}. Arrow keys read its values.`}
        onPointerMove={point}
        onPointerLeave={() => setPointed(undefined)}
        onKeyDown={step}
        onBlur={() => setPointed(undefined)}
      >
        {fullWidth > 0 && (
          <svg width={fullWidth} height={HEIGHT} aria-hidden="true">
            <g transform={`translate(${left} ${MARGIN.top})`}>
              <Axes values={values.ticks} along={scale.ticks} width={width} height={plotHeight} />
              {at !== undefined && (
                <line
                  className="chart-pointer"
                  x1={scale.place(at)}
                  x2={scale.place(at)}
                  y2={plotHeight}
                />
              )}
              {series.map(({ name, values: all }, at) => (
                <path
                  key={name}
                  className={`chart-${form.toLowerCase()} chart-series-${at}`}
                  d={
                    form === "Bars"
                      ? barPath(all, bands, values, { at, count: series.length })
                      : linePath(all, scale, values)
                  }
                />
              ))}
            </g>
          </svg>
        )}
      </div>
      <ul className="unseen">
        {summariesOf(series).map((summary) => (
          <li key={summary}>{summary}</li>
        ))}
      </ul>
    </figure>
  );
}

/** The names of the series, with their values at the pointer. */
function Legend({ labels, series, at }: ChartProps & { readonly at: number | undefined }) {
  return (
    <figcaption className="chart-legend" aria-live="polite">
      {series.map(({ name, values }, index) => {
        const value = at === undefined ? undefined : values[at];
        const digits = digitsOf(values.filter((one) => one !== null));
        return (
          <span key={name} className="chart-entry">
            <span className={`chart-swatch chart-series-${index}`} />
            {name}
            {value === undefined ? null : (
              <strong>{value === null ? "no value" : numberWords(value, name, digits)}</strong>
            )}
          </span>
        );
      })}
      {at === undefined ? null : <span className="chart-at">{labels[at]}</span>}
    </figcaption>
  );
}

interface AxesProps {
  readonly values: readonly Tick[];
  readonly along: readonly Tick[];
  readonly width: number;
  readonly height: number;
}

function Axes({ values, along, width, height }: AxesProps) {
  return (
    <>
      {values.map(({ at, label }) => (
        <g key={at} transform={`translate(0 ${at})`}>
          <line className="chart-grid" x2={width} />
          <text className="chart-tick" x={-8} dy="0.32em" textAnchor="end">
            {label}
          </text>
        </g>
      ))}
      {along.map(({ at, label }) => (
        <text
          key={at}
          className="chart-tick"
          x={Math.min(at, width + MARGIN.right - (label.length * CHAR_WIDTH) / 2)}
          y={height + 18}
          textAnchor="middle"
        >
          {label}
        </text>
      ))}
    </>
  );
}

function stepTo(key: string, at: number | undefined, count: number): number | undefined {
  const places: Readonly<Record<string, number>> = {
    ArrowRight: Math.min(count - 1, (at ?? -1) + 1),
    ArrowLeft: Math.max(0, (at ?? count) - 1),
    Home: 0,
    End: count - 1,
  };
  return count === 0 ? undefined : places[key];
}

/** A mark on an axis. */
interface Tick {
  readonly at: number;
  readonly label: string;
}

interface Scale {
  readonly place: (value: number) => number;
  readonly ticks: readonly Tick[];
}

/** Scale of the values. Includes zero for bars, and if zero is near. */
export function valueScale(
  series: readonly Series[],
  { height, fromZero }: { readonly height: number; readonly fromZero: boolean },
): Scale {
  let [low = 0, high = 1] = extent(series.flatMap(({ values }) => values.filter(isKnown)));
  // A line starts at zero too, unless that would flatten it.
  if (fromZero || (low > 0 && low < (high - low) * 2)) low = Math.min(low, 0);
  if (fromZero) high = Math.max(high, 0);
  // One is nothing beside very large values.
  const margin = Math.max(1, Math.abs(low) / 1_000);
  if (low === high) [low, high] = [low - margin, high + margin];
  const count = Math.max(2, Math.round(height / PIXELS_A_TICK));
  const [bottom, top] = nice(low, high, count);
  const place = (value: number) => height - ((value - bottom) / (top - bottom)) * height;
  const format = new Intl.NumberFormat(LOCALE, {
    notation: Math.max(Math.abs(bottom), Math.abs(top)) >= COMPACT_FROM ? "compact" : "standard",
    maximumSignificantDigits: 4,
  });
  const marks = ticks(bottom, top, count).map((value) => {
    return { at: place(value), label: format.format(value) };
  });
  return { place, ticks: marks };
}

const PIXELS_A_TICK = 48;
const COMPACT_FROM = 10_000;
const CHAR_WIDTH = 7;

/** Scale with a band of equal width for each place along x. Shows as many names as fit. */
function bandScale(labels: readonly string[], width: number): Scale & { band: number } {
  const band = width / Math.max(1, labels.length);
  const place = (index: number) => (index + 0.5) * band;
  const short = labels.map((label) => shortened(label, MAX_LABEL_CHARS));
  const longest = short.reduce((most, label) => Math.max(most, label.length), 1);
  const every = Math.max(1, Math.ceil(((longest + 2) * CHAR_WIDTH) / band));
  const marks = short.map((label, index) => ({ at: place(index), label }));
  return { place, ticks: marks.filter((_, index) => index % every === 0), band };
}

const MAX_LABEL_CHARS = 13;

/** Scale of times along x, in UTC. Distances are proportional to time. */
function timeScale(times: readonly number[], width: number): Scale {
  const [from = 0, to = 0] = extent(times);
  const span = Math.max(1, to - from);
  const place = (index: number) => (((times[index] ?? from) - from) / span) * width;
  const count = Math.max(2, Math.floor(width / PIXELS_A_TIME));
  const marks = utcTicks(new Date(from), new Date(to), count);
  const at = (time: Date) => ((time.getTime() - from) / span) * width;
  return { place, ticks: marks.map((time) => ({ at: at(time), label: timeLabel(time) })) };
}

const PIXELS_A_TIME = 76;

/** Returns the part of a time that changes at this mark: the year in January, the month on its first day … */
function timeLabel(time: Date): string {
  const [date = "", clock = ""] = time.toISOString().split("T");
  if (!clock.startsWith("00:00:00.000")) {
    return clock.slice(0, clock.slice(6, 8) === "00" ? 5 : 8);
  }
  if (date.endsWith("-01-01")) return date.slice(0, 4);
  const month = time.toLocaleString("en-US", { month: "short", timeZone: "UTC" });
  return date.endsWith("-01") ? month : `${month} ${Number(date.slice(8))}`;
}

/** A line, or the bars of one colour. Holds a value for each place along x, null if it has none. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

function isKnown(value: number | null): value is number {
  return value !== null;
}

export interface ChartChoice {
  /** Default: the row numbers. */
  readonly x: string | undefined;
  readonly y: readonly string[];
  readonly form: Form;
}

const MAX_SERIES = 4;
/** Maximum places with bars. With more, bars would be too thin. */
const MAX_BARS = 60;
/** Largest ratio of series that are drawn by default. Beyond it, the smaller one would look flat. */
const MAX_RATIO = 20;

/** Returns the columns that can be the x axis, dates first. */
export function xColumns(columns: readonly Column[], rows: readonly Row[]): readonly string[] {
  const texts = columns.filter(({ isNumeric }) => !isNumeric).map(({ name }) => name);
  const plain = texts.filter((name) => rows.every((row) => typeof cellOf(row, name) !== "object"));
  const dates = plain.filter((name) => areTimes(rows.slice(0, LOOKED_AT), name));
  return [...dates, ...plain.filter((name) => !dates.includes(name))];
}

const LOOKED_AT = 200;

function yColumns(columns: readonly Column[]): readonly string[] {
  return columns.filter(({ isNumeric }) => isNumeric).map(({ name }) => name);
}

/** Returns the columns drawn by default. */
export function firstChoice(columns: readonly Column[], rows: readonly Row[]): ChartChoice {
  const names = yColumns(columns);
  const telling = names.filter((name) => !isCounter(rows, name));
  const sizes = (telling.length > 0 ? telling : names).map((name) => {
    return { name, size: sizeOf(rows.map((row) => numberIn(cellOf(row, name)))) };
  });
  const largest = sizes.reduce((most, { size }) => Math.max(most, size), 0);
  const y = sizes.filter(({ size }) => size * MAX_RATIO >= largest).map(({ name }) => name);
  const form = rows.length > MAX_BARS ? "Line" : "Bars";
  return { x: xColumns(columns, rows)[0], y: y.slice(0, MAX_SERIES), form };
}

/** True for a column that only counts the rows. */
function isCounter(rows: readonly Row[], name: string): boolean {
  const first = cellOf(rows[0] ?? { index: 0, value: null }, name);
  return rows.every((row, at) => cellOf(row, name) === Number(first) + at);
}

/** Adds a name to the choice, or removes it. Drops the oldest name if there are too many. */
function toggled(chosen: readonly string[], name: string): readonly string[] {
  if (!chosen.includes(name)) return [...chosen, name].slice(-MAX_SERIES);
  return chosen.length === 1 ? chosen : chosen.filter((other) => other !== name);
}

function seriesOf(rows: readonly Row[], y: readonly string[]): readonly Series[] {
  return y.map((name) => ({ name, values: rows.map((row) => numberIn(cellOf(row, name))) }));
}

function sizeOf(values: Series["values"]): number {
  return values.reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
}

/** Returns the places along x: texts, or times in milliseconds if all values are dates. */
function placesOf(
  rows: readonly Row[],
  x: string | undefined,
): { readonly labels: readonly string[]; readonly times?: readonly number[] } {
  if (x === undefined) return { labels: rows.map(({ index }) => String(index)) };
  const labels = rows.map((row) => String(cellOf(row, x) ?? ""));
  if (!areTimes(rows, x)) return { labels };
  return { labels, times: labels.map(timeIn) };
}

const TIME =
  /^(\d{4}-\d\d(?:-\d\d)?)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d):?(\d\d))?)?$/;

/** Parses a time into milliseconds. Without an offset it is in UTC, like the axis, wherever the browser is. */
export function timeIn(text: string): number {
  const [, date, clock = "00:00", hours = "+00", minutes = "00"] = TIME.exec(text) ?? [];
  return Date.parse(`${date}T${clock}${hours}:${minutes}`);
}

function areTimes(rows: readonly Row[], name: string): boolean {
  if (rows.length === 0) return false;
  return rows.every((row) => {
    const cell = cellOf(row, name);
    return typeof cell === "string" && !Number.isNaN(timeIn(cell));
  });
}

function numberIn(cell: Json | undefined): number | null {
  return typeof cell === "number" && Number.isFinite(cell) ? cell : null;
}

/** Describes the series in words, for screen readers. Leaves out series without values. */
function summariesOf(series: readonly Series[]): readonly string[] {
  return series.flatMap(({ name, values }) => {
    const known = values.filter(isKnown);
    const [min, max] = extent(known);
    if (min === undefined) return [];
    const digits = digitsOf(known);
    const [least, most, middle] = [min, max, mean(known) ?? 0].map((value) =>
      numberWords(value, name, digits),
    );
    return `${name}: ${known.length} values from ${least} to ${most}, ${middle} on average`;
  });
}

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

type ChosenChartProps = RecordsChartProps & { readonly rows: readonly Row[] };

function ChosenChart({ rows, records: { columns }, name }: ChosenChartProps) {
  const [choice, setChoice] = useState<ChartChoice>(() => firstChoice(columns, rows));
  const { x, y, form } = choice;
  const { labels, times, series } = useMemo(() => {
    const { times } = placesOf(rows, x);
    // A line follows time, whatever the order of the rows.
    const places = times && sort(rows.keys(), (at) => times[at]);
    const order = places ? permute(rows, places) : rows;
    return { times: undefined, ...placesOf(order, x), series: seriesOf(order, y) };
  }, [rows, x, y]);
  return (
    <div className="chart-chosen">
      <div className="chart-choices">
        <label className="chart-choice">
          X axis
          <select
            value={x ?? ""}
            onChange={({ target }) => setChoice({ ...choice, x: target.value || undefined })}
          >
            {xColumns(columns, rows).map((one) => (
              <option key={one}>{one}</option>
            ))}
            <option value="">row number</option>
          </select>
        </label>
        <div className="chart-columns" role="group" aria-label="Columns to draw, at most four">
          {yColumns(columns).map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={y.includes(one)}
              onClick={() => setChoice({ ...choice, y: toggled(y, one) })}
            >
              {one}
            </button>
          ))}
        </div>
        <Segments
          label="Chart type"
          values={FORMS}
          value={form}
          onChoose={(next) => setChoice({ ...choice, form: next })}
        />
      </div>
      <Chart
        {...{ form, labels, times, series }}
        label={`${y.join(", ")} of $${name} by ${x ?? "row"}`}
      />
    </div>
  );
}
