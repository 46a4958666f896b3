import { LOCALE } from "../numbers.ts";
import { nice, ticks } from "d3-array";
import { utcTicks } from "d3-time";
import type { Series } from "./chart-series.ts";

/** A mark on an axis. */
export interface Tick {
  readonly at: number;
  readonly label: string;
}

export interface Scale {
  readonly place: (value: number) => number;
  readonly ticks: readonly Tick[];
}

/** Scale of the values. Includes zero for bars, and if zero is near. */
export function valueScale(
  series: readonly Series[],
  { height, fromZero }: { readonly height: number; readonly fromZero: boolean },
): Scale {
  let [low, high] = [Infinity, -Infinity];
  for (const { values } of series) {
    for (const value of values) {
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (low > high) [low, high] = [0, 1];
  // A line starts at zero too, unless that would flatten it.
  if (fromZero || (low > 0 && low < (high - low) * 2)) low = Math.min(low, 0);
  if (fromZero) high = Math.max(high, 0);
  if (low === high) [low, high] = [low - 1, high + 1];
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
const CHAR_WIDTH = 6.6;

/** Scale with a band of equal width for each place along x. Shows as many names as fit. */
export function bandScale(labels: readonly string[], width: number): Scale & { band: number } {
  const band = width / Math.max(1, labels.length);
  const place = (index: number) => (index + 0.5) * band;
  const longest = labels.reduce((most, label) => Math.max(most, shortLabel(label).length), 1);
  const every = Math.max(1, Math.ceil(((longest + 2) * CHAR_WIDTH) / band));
  const marks = labels.flatMap((label, index) =>
    index % every === 0 ? [{ at: place(index), label: shortLabel(label) }] : [],
  );
  return { place, ticks: marks, band };
}

const MAX_LABEL_CHARS = 14;

function shortLabel(label: string): string {
  return label.length <= MAX_LABEL_CHARS ? label : `${label.slice(0, MAX_LABEL_CHARS - 1)}…`;
}

/** Scale of times along x, in UTC. Distances are proportional to time. */
export function timeScale(times: readonly number[], width: number): Scale {
  const from = times.reduce((least, time) => Math.min(least, time), Infinity);
  const to = times.reduce((most, time) => Math.max(most, time), -Infinity);
  const span = Math.max(1, to - from);
  const place = (index: number) => (((times[index] ?? from) - from) / span) * width;
  const count = Math.max(2, Math.floor(width / PIXELS_A_TIME));
  const marks = utcTicks(new Date(from), new Date(to), count);
  return {
    place,
    ticks: marks.map((time) => {
      return { at: ((time.getTime() - from) / span) * width, label: timeLabel(time) };
    }),
  };
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

/**
 * The indices of a series that are enough to draw its line: in each column of pixels the first, the
 * smallest, the largest and the last value.
 */
export function drawnIndices(
  values: readonly (number | null)[],
  place: (index: number) => number,
): readonly number[] {
  const kept = new Set<number>();
  let column: { x: number; min: number; max: number; last: number } | undefined;
  const close = () => {
    if (column === undefined) return;
    for (const index of [column.min, column.max, column.last]) kept.add(index);
  };
  for (const [index, value] of values.entries()) {
    if (value === null) {
      close();
      column = undefined;
      kept.add(index);
      continue;
    }
    const x = Math.floor(place(index));
    if (column === undefined || column.x !== x) {
      close();
      kept.add(index);
      column = { x, min: index, max: index, last: index };
    }
    if (value < (values[column.min] ?? value)) column.min = index;
    if (value > (values[column.max] ?? value)) column.max = index;
    column.last = index;
  }
  close();
  return [...kept].sort((a, b) => a - b);
}
