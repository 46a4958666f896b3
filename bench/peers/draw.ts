/** Draws the results as SVG: `node bench/peers/draw.ts RESULTS FOLDER`. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import type { Results } from "../results.ts";

const [, , resultsPath = "", folder = ""] = process.argv;
const results = JSON.parse(readFileSync(resultsPath, "utf8")) as Results;
mkdirSync(folder, { recursive: true });

const OURS = "#0f766e";
const OTHERS = "#9ca3af";

/** Rows with a chart: times of whole turns and first parts, rows, characters. */
const charts: readonly { readonly file: string; readonly begins: readonly string[] }[] = [
  { file: "times", begins: ["first part", "whole turn", "many at once"] },
  { file: "rows", begins: ["rows written"] },
  {
    file: "prompt",
    begins: ["prompt after a large result: characters", "prompt after a large result: tokens"],
  },
];

for (const { file, begins } of charts) {
  const dots = dotsOf(begins);
  if (dots.length > 0) await draw(file, dotPlot(dots));
}

interface Dot {
  readonly what: string;
  readonly side: string;
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

function dotsOf(begins: readonly string[]): readonly Dot[] {
  const rows = results.rows.filter(({ name }) => begins.some((begin) => name.startsWith(begin)));
  // One for all ratios of the same samples.
  const once = new Map(rows.map((row) => [row.name.replace(/: against .*$/u, ""), row]));
  return Array.from(once).flatMap(([name, { sides = {}, sidesUnit, unit }]) =>
    Object.entries(sides).map(([side, { median, low, high }]) => ({
      what: name.endsWith(sidesUnit ?? unit) ? name : `${name}, ${sidesUnit ?? unit}`,
      side,
      // A logarithmic scale has no zero.
      median: Math.max(median, 0.5),
      low: Math.max(low, 0.5),
      high: Math.max(high, 0.5),
    })),
  );
}

/** A panel for each row, because their units differ. */
function dotPlot(dots: readonly Dot[]): TopLevelSpec {
  const scale = { type: "log" } as const;
  const y = { field: "side", type: "nominal", title: null, sort: null } as const;
  const panels = [...new Set(dots.map(({ what }) => what))].map((what) => ({
    title: { text: what, anchor: "start" as const },
    width: 480,
    data: { values: dots.filter((dot) => dot.what === what) },
    layer: [
      {
        mark: { type: "errorbar" as const, ticks: true },
        encoding: {
          y,
          x: { field: "low", type: "quantitative" as const, scale, title: null },
          x2: { field: "high" },
        },
      },
      {
        mark: { type: "point" as const, filled: true, size: 60 },
        encoding: {
          y,
          x: { field: "median", type: "quantitative" as const, scale },
          color: {
            condition: { test: "indexof(datum.side, 'ours') === 0", value: OURS },
            value: OTHERS,
          },
        },
      },
    ],
  }));
  return { vconcat: panels };
}

async function draw(file: string, specification: TopLevelSpec): Promise<void> {
  const { spec } = compile({
    ...specification,
    background: "white",
    config: { legend: { labelLimit: 0 } },
  });
  const view = new View(parse(spec), { renderer: "none" });
  writeFileSync(join(folder, `${file}.svg`), `${await view.toSVG()}\n`);
}
