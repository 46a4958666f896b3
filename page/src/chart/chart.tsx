import { type KeyboardEvent, type PointerEvent, type ReactNode, useState } from "react";
import {
  bandScale,
  drawnIndices,
  type Scale,
  type Tick,
  timeScale,
  valueScale,
} from "./chart-scale.ts";
import { type Series, summariesOf, summaryWords } from "./chart-series.ts";
import { numberWords } from "../numbers.ts";
import { useWidth } from "./use-width.ts";
import "./chart.css";

export interface ChartProps {
  /** Text alternative for screen readers. */
  readonly label: string;
  /** One for each place along x. */
  readonly labels: readonly string[];
  /** At most four. */
  readonly series: readonly Series[];
  /** In pixels. Default: 260. */
  readonly height?: number;
}

export interface LineChartProps extends ChartProps {
  /** Times of the places in milliseconds, ascending. Distances are proportional to time. */
  readonly times?: readonly number[];
}

const MARGIN = { top: 10, right: 10, bottom: 26 };
const CHAR_WIDTH = 7;
const GAP = 0.24;
const DEFAULT_HEIGHT = 260;

/** Bars from zero. Several series stand side by side. */
export function BarChart(props: ChartProps) {
  const { labels, series } = props;
  const draw = ({ values, width }: Drawn) => {
    const scale = bandScale(labels, width);
    const bar = (scale.band * (1 - GAP)) / Math.max(1, series.length);
    const zero = values.place(0);
    const marks = series.map(({ name, values: all }, at) => {
      const path = all.map((value, index) => {
        if (value === null) return "";
        const left = scale.place(index) + (at - series.length / 2) * bar;
        return `M${round(left)} ${round(zero)}V${round(values.place(value))}h${round(Math.max(bar - 1, 0.5))}V${round(zero)}z`;
      });
      return <path key={name} className={`chart-bars chart-series-${at}`} d={path.join("")} />;
    });
    return { scale, marks };
  };
  return <Chart {...props} fromZero draw={draw} />;
}

/** A line for each series, interrupted at missing values. */
export function LineChart(props: LineChartProps) {
  const { labels, series, times } = props;
  const draw = ({ values, width }: Drawn) => {
    const scale = times === undefined ? bandScale(labels, width) : timeScale(times, width);
    const marks = series.map(({ name, values: all }, at) => (
      <path
        key={name}
        className={`chart-line chart-series-${at}`}
        d={linePath(all, scale, values)}
      />
    ));
    return { scale, marks };
  };
  return <Chart {...props} fromZero={false} draw={draw} />;
}

function linePath(all: Series["values"], along: Scale, values: Scale): string {
  let isDown = false;
  return drawnIndices(all, along.place)
    .map((index) => {
      const value = all[index];
      if (value === null || value === undefined) {
        isDown = false;
        return "";
      }
      const move = isDown ? "L" : "M";
      isDown = true;
      return `${move}${round(along.place(index))} ${round(values.place(value))}`;
    })
    .join("");
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

interface Drawn {
  readonly values: Scale;
  readonly width: number;
}

interface FrameProps extends ChartProps {
  readonly fromZero: boolean;
  readonly draw: (drawn: Drawn) => { readonly scale: Scale; readonly marks: ReactNode };
}

function Chart(props: FrameProps) {
  const { label, labels, series, height = DEFAULT_HEIGHT, fromZero, draw } = props;
  const [element, fullWidth] = useWidth();
  const [pointed, setPointed] = useState<number>();
  const plotHeight = height - MARGIN.top - MARGIN.bottom;
  const values = valueScale(series, { height: plotHeight, fromZero });
  const left = Math.max(...values.ticks.map(({ label }) => label.length), 1) * CHAR_WIDTH + 10;
  const width = Math.max(0, fullWidth - left - MARGIN.right);
  const { scale, marks } = draw({ values, width });
  const at = pointed !== undefined && pointed < labels.length ? pointed : undefined;
  const point = ({ clientX, currentTarget }: PointerEvent) => {
    const x = clientX - currentTarget.getBoundingClientRect().left - left;
    setPointed(nearest(scale, labels.length, x));
  };
  const step = (event: KeyboardEvent) => {
    const next = stepTo(event.key, at, labels.length);
    if (next === undefined) return;
    event.preventDefault();
    setPointed(next);
  };
  return (
    <figure className="chart">
      <Legend {...{ series, labels, at }} />
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
        {fullWidth === 0 ? null : (
          <svg width={fullWidth} height={height} aria-hidden="true">
            <g transform={`translate(${left} ${MARGIN.top})`}>
              <Axes values={values.ticks} along={scale.ticks} width={width} height={plotHeight} />
              {at === undefined ? null : (
                <line
                  className="chart-pointer"
                  x1={scale.place(at)}
                  x2={scale.place(at)}
                  y2={plotHeight}
                />
              )}
              {marks}
            </g>
          </svg>
        )}
      </div>
      <ul className="unseen">
        {summariesOf(series).map((summary) => (
          <li key={summary.name}>{summaryWords(summary)}</li>
        ))}
      </ul>
    </figure>
  );
}

interface LegendProps extends Pick<ChartProps, "labels" | "series"> {
  readonly at: number | undefined;
}

/** The names of the series, with their values at the pointer. */
function Legend({ labels, series, at }: LegendProps) {
  return (
    <figcaption className="chart-legend" aria-live="polite">
      {series.map(({ name, values }, index) => {
        const value = at === undefined ? undefined : values[at];
        return (
          <span key={name} className="chart-entry">
            <span className={`chart-swatch chart-series-${index}`} />
            {name}
            {value === undefined ? null : (
              <strong>{value === null ? "no value" : numberWords(value, name)}</strong>
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

/** Returns the place nearest to x. Places ascend. */
function nearest({ place }: Scale, count: number, x: number): number | undefined {
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (place(middle) < x) low = middle + 1;
    else high = middle;
  }
  const isBefore = low > 0 && x - place(low - 1) < place(low) - x;
  return count === 0 ? undefined : low - Number(isBefore);
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
