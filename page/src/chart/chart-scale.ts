import { extent, nice, ticks } from "d3-array";
import { utcTicks } from "d3-time";
import { LOCALE, shortened } from "../words.ts";
import { isKnown, type Series } from "./chart-series.ts";

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
  let [low = 0, high = 1] = extent(series.flatMap(({ values }) => values.filter(isKnown)));
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
  const short = labels.map((label) => shortened(label, MAX_LABEL_CHARS));
  const longest = short.reduce((most, label) => Math.max(most, label.length), 1);
  const every = Math.max(1, Math.ceil(((longest + 2) * CHAR_WIDTH) / band));
  const marks = short.map((label, index) => ({ at: place(index), label }));
  return { place, ticks: marks.filter((_, index) => index % every === 0), band };
}

const MAX_LABEL_CHARS = 13;

/** Scale of times along x, in UTC. Distances are proportional to time. */
export function timeScale(times: readonly number[], width: number): Scale {
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
