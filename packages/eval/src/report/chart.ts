import type { Interval } from "../statistics/bootstrap.ts";
import { shownInterval, shownSize, type Unit } from "./format.ts";
import type { ArmRow, Measures, Results } from "./results.ts";

/** A chart as a whole SVG document. */
export interface Chart {
  readonly name: string;
  readonly svg: string;
}

interface Panel {
  readonly name: string;
  readonly title: string;
  readonly key: keyof Measures;
  readonly unit: Unit;
}

const PANELS: readonly Panel[] = [
  { name: "right", title: "Right", key: "right", unit: "share" },
  { name: "intact", title: "Bytes intact", key: "intact", unit: "share" },
  { name: "cost", title: "Dollars a task", key: "cost", unit: "dollars" },
  { name: "input", title: "Input tokens a task", key: "input", unit: "number" },
];

const WIDTH = 700;
const LEFT = 150;
const RIGHT = 240;
const ROW = 26;
const COLORS = ["#6b7280", "#b45309", "#7c3aed", "#0f766e", "#1d4ed8"];

/** Draws the results: a panel of points with intervals for each measure, and intact data by size. */
export function chartsOf(results: Results): readonly Chart[] {
  const panels = PANELS.flatMap((panel) => {
    const rows = results.arms.filter((row) => row[panel.key] !== undefined);
    return rows.length === 0 ? [] : [{ name: panel.name, svg: pointChart(panel, rows) }];
  });
  return results.sizes.length === 0
    ? panels
    : [...panels, { name: "sizes", svg: sizeChart(results) }];
}

function pointChart({ title, key, unit }: Panel, rows: readonly ArmRow[]): string {
  const intervals = rows.flatMap((row) => row[key] ?? []);
  const end =
    unit === "share" ? 1 : Math.max(...intervals.map(({ high }) => high), Number.MIN_VALUE);
  const x = (value: number) => LEFT + (Math.max(0, value) / end) * (WIDTH - LEFT - RIGHT);
  const marks = rows.flatMap(({ arm, [key]: interval }, index) => {
    if (interval === undefined) return [];
    const y = 44 + index * ROW;
    const color = COLORS[index % COLORS.length] ?? "";
    return [
      text({ x: LEFT - 10, y: y + 4, anchor: "end" }, arm),
      line([x(interval.low), y], [x(interval.high), y], color),
      `<circle cx="${fixed(x(interval.value))}" cy="${y}" r="5" fill="${color}"/>`,
      text({ x: WIDTH - RIGHT + 14, y: y + 4, anchor: "start" }, shownInterval(interval, unit)),
    ];
  });
  const height = 44 + rows.length * ROW;
  const axis = line([LEFT, height - 8], [WIDTH - RIGHT, height - 8], "#d1d5db");
  return document(title, height, [axis, ...marks]);
}

/** Lines by arm over the characters of a document. */
function sizeChart({ sizes, arms }: Results): string {
  const all = [...new Set(sizes.map(({ size }) => size))].toSorted((a, b) => a - b);
  const [top, bottom] = [40, 260];
  const inset = 20;
  const step = (WIDTH - LEFT - RIGHT - 2 * inset) / Math.max(all.length - 1, 1);
  const x = (index: number) => LEFT + inset + index * step;
  const y = (share: number) => bottom - share * (bottom - top);
  const grid = [0, 0.5, 1].flatMap((share) => [
    line([LEFT, y(share)], [WIDTH - RIGHT, y(share)], "#e5e7eb"),
    text({ x: LEFT - 10, y: y(share) + 4, anchor: "end" }, `${share * 100} %`),
  ]);
  const labels = all.map((size, index) =>
    text({ x: x(index), y: bottom + 20, anchor: "middle" }, shownSize(size)),
  );
  const curves = arms.flatMap(({ arm }, index) => {
    // Apart, so that lines at the same height can be seen.
    const shift = (index - (arms.length - 1) / 2) * 4;
    const points = all.flatMap((size, at): (readonly [number, Interval])[] => {
      const intact = sizes.find((one) => one.size === size && one.arm === arm)?.intact;
      return intact === undefined ? [] : [[x(at) + shift, intact]];
    });
    return curve(points, { y, color: COLORS[index % COLORS.length] ?? "", arm, index });
  });
  return document("Bytes intact, by characters of the document", bottom + 34, [
    ...grid,
    ...labels,
    ...curves,
  ]);
}

interface CurveStyle {
  readonly y: (share: number) => number;
  readonly color: string;
  readonly arm: string;
  readonly index: number;
}

function curve(
  points: readonly (readonly [number, Interval])[],
  { y, color, arm, index }: CurveStyle,
): readonly string[] {
  const path = points.map(([x, { value }]) => `${fixed(x)},${fixed(y(value))}`).join(" ");
  const at = 52 + index * 20;
  return [
    `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>`,
    ...points.flatMap(([x, { value, low, high }]) => [
      line([x, y(low)], [x, y(high)], color),
      `<circle cx="${fixed(x)}" cy="${fixed(y(value))}" r="3.5" fill="${color}"/>`,
    ]),
    `<circle cx="${WIDTH - RIGHT + 18}" cy="${at - 4}" r="4" fill="${color}"/>`,
    text({ x: WIDTH - RIGHT + 30, y: at, anchor: "start" }, arm),
  ];
}

function document(title: string, height: number, marks: readonly string[]): string {
  const font = 'font-family="system-ui, sans-serif" font-size="12"';
  const heading = `<text x="10" y="20" font-size="14" font-weight="600" fill="#111827">${escapedXml(title)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" ${font}><title>${escapedXml(title)}</title><rect width="100%" height="100%" fill="white"/>${heading}${marks.join("")}</svg>\n`;
}

type Point = readonly [x: number, y: number];

function line([x1, y1]: Point, [x2, y2]: Point, color: string): string {
  return `<line x1="${fixed(x1)}" y1="${fixed(y1)}" x2="${fixed(x2)}" y2="${fixed(y2)}" stroke="${color}" stroke-width="2"/>`;
}

interface TextPlace {
  readonly x: number;
  readonly y: number;
  readonly anchor: "start" | "middle" | "end";
}

function text({ x, y, anchor }: TextPlace, content: string): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" fill="#374151">${escapedXml(content)}</text>`;
}

function fixed(value: number): string {
  return String(Number(value.toFixed(1)));
}

/** Escapes a text for XML and HTML. */
export function escapedXml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
