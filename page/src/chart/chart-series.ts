import { extent, mean } from "d3-array";
import type { Json } from "../../../src/value/json.ts";
import { cellOf, type Column, type Row } from "../variables/records.ts";
import { digitsOf, numberWords } from "../words.ts";

/** A line, or the bars of one colour. Holds a value for each place along x, null if it has none. */
export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

export function isKnown(value: number | null): value is number {
  return value !== null;
}

export interface ChartChoice {
  /** Default: the row numbers. */
  readonly x: string | undefined;
  readonly y: readonly string[];
  readonly form: "bar" | "line";
}

const MAX_SERIES = 4;
/** Maximum places with bars. With more, bars would be too thin. */
const MAX_BARS = 60;
/** Largest ratio of series that share a chart. Beyond it, the smaller one would look flat. */
const MAX_RATIO = 20;

/** Returns the columns that can be the x axis, dates first. */
export function xColumns(columns: readonly Column[], rows: readonly Row[]): readonly string[] {
  const texts = columns.filter(({ isNumeric }) => !isNumeric).map(({ name }) => name);
  const plain = texts.filter((name) => rows.every((row) => typeof cellOf(row, name) !== "object"));
  const dates = plain.filter((name) => areTimes(rows.slice(0, LOOKED_AT), name));
  return [...dates, ...plain.filter((name) => !dates.includes(name))];
}

const LOOKED_AT = 200;

export function yColumns(columns: readonly Column[]): readonly string[] {
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
  const form = rows.length > MAX_BARS ? "line" : "bar";
  return { x: xColumns(columns, rows)[0], y: y.slice(0, MAX_SERIES), form };
}

/** True for a column that only counts the rows. */
function isCounter(rows: readonly Row[], name: string): boolean {
  const first = cellOf(rows[0] ?? { index: 0, value: null }, name);
  return rows.every((row, at) => cellOf(row, name) === Number(first) + at);
}

/** Adds a name to the choice, or removes it. Drops the oldest name if there are too many. */
export function toggled(chosen: readonly string[], name: string): readonly string[] {
  if (!chosen.includes(name)) return [...chosen, name].slice(-MAX_SERIES);
  return chosen.length === 1 ? chosen : chosen.filter((other) => other !== name);
}

export function seriesOf(rows: readonly Row[], y: readonly string[]): readonly Series[] {
  return y.map((name) => ({ name, values: rows.map((row) => numberIn(cellOf(row, name))) }));
}

/** Groups series by magnitude, largest first. Each group fits in one chart. */
export function comparable(series: readonly Series[]): readonly (readonly Series[])[] {
  const sizes = new Map(series.map((one) => [one, sizeOf(one.values)]));
  const bySize = series.toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0));
  const groups: Series[][] = [];
  for (const one of bySize) {
    const group = groups.at(-1);
    const largest = group?.[0] === undefined ? 0 : (sizes.get(group[0]) ?? 0);
    if (group !== undefined && (sizes.get(one) ?? 0) * MAX_RATIO >= largest) group.push(one);
    else groups.push([one]);
  }
  return groups;
}

function sizeOf(values: Series["values"]): number {
  return values.reduce<number>((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
}

/** Returns the places along x: texts, or times in milliseconds if all values are dates. */
export function placesOf(
  rows: readonly Row[],
  x: string | undefined,
): { readonly labels: readonly string[]; readonly times?: readonly number[] } {
  if (x === undefined) return { labels: rows.map(({ index }) => String(index)) };
  const labels = rows.map((row) => String(cellOf(row, x) ?? ""));
  if (!areTimes(rows, x)) return { labels };
  return { labels, times: labels.map((label) => Date.parse(label)) };
}

const TIME = /^\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?$/;

function areTimes(rows: readonly Row[], name: string): boolean {
  if (rows.length === 0) return false;
  return rows.every((row) => {
    const cell = cellOf(row, name);
    return typeof cell === "string" && TIME.test(cell) && !Number.isNaN(Date.parse(cell));
  });
}

function numberIn(cell: Json | undefined): number | null {
  return typeof cell === "number" && Number.isFinite(cell) ? cell : null;
}

/** Describes the series in words, for screen readers. Leaves out series without values. */
export function summariesOf(series: readonly Series[]): readonly string[] {
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
