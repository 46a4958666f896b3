import { bisector, range } from "d3-array";
import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { useWidth } from "../hooks.ts";
import { digitsOf, numberWords } from "../words.ts";
import { bandScale, type Scale, type Tick, timeScale, valueScale } from "./chart-scale.ts";
import { type Series, summariesOf } from "./chart-series.ts";
import "./chart.css";

interface ChartProps {
  /** Bars from zero, where several series stand side by side; or a line for each series. */
  readonly form: "bar" | "line";
  /** Text alternative for screen readers. */
  readonly label: string;
  /** One for each place along x. */
  readonly labels: readonly string[];
  /** Times of the places in milliseconds, ascending. Distances of lines are then proportional to time. */
  readonly times: readonly number[] | undefined;
  /** At most four. */
  readonly series: readonly Series[];
  /** In pixels. Default: 260. */
  readonly height: number | undefined;
}

const MARGIN = { top: 10, right: 10, bottom: 26 };
const CHAR_WIDTH = 7;
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

export function Chart(props: ChartProps) {
  const { form, label, labels, times, series, height = 260 } = props;
  const [element, fullWidth] = useWidth();
  const [pointed, setPointed] = useState<number>();
  const plotHeight = height - MARGIN.top - MARGIN.bottom;
  const values = valueScale(series, { height: plotHeight, fromZero: form === "bar" });
  const left = Math.max(...values.ticks.map(({ label }) => label.length), 1) * CHAR_WIDTH + 10;
  const width = Math.max(0, fullWidth - left - MARGIN.right);
  const bands = bandScale(labels, width);
  const scale = form === "bar" || times === undefined ? bands : timeScale(times, width);
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
          <svg width={fullWidth} height={height} aria-hidden="true">
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
                  className={`chart-${form === "bar" ? "bars" : "line"} chart-series-${at}`}
                  d={
                    form === "bar"
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
