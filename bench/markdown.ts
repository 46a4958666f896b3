import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Curve, type Results, type Row, shown, shownSpread } from "./results.ts";

const BEGIN = "<!-- figures: written by npm run bench:peers -->";
const END = "<!-- end of figures -->";

/** Rows and sides that the README shows. */
const HEADLINES = new Set([
  "prompt after a large result: characters of messages",
  "prompt after a large result: tokens of all calls",
  "rows written: turn of 400 deltas",
  "first part",
  "whole turn",
  "many at once",
  "many conversations, wall",
]);
const HEADLINE_SIDES = ["ours", "bare", "ai-chat", "think"];
/** Rows about the cost of a prompt, in the README. */
const PROMPT_ROWS = [
  "two short turns with small results, messages: against kept",
  "two short turns with small results, messages and tools: against kept",
  "prompt of a first question, run_code too: against kept",
  "prompt after a large result, messages and tools: against ai-chat",
  "prompt after a large result, messages and tools: against think",
  "50 turns of mixed work: what the request before does not begin with",
  "500 turns of mixed work: messages of the last prompt",
  "500 turns of mixed work: facts of turn 3 that one call does not find",
  "2000 turns: first part",
  "2000 turns: wake and first part",
];

/** Rows that the guide on costs promises to keep small. */
const PROMISED_ROWS = [
  "prompt after a large result, messages: against ai-chat",
  "prompt after a large result, messages: against think",
  ...PROMPT_ROWS,
];

/** Documents with published figures, and what each has between its markers. */
export const PUBLISHED_TABLES: Readonly<Record<string, (results: Results) => string>> = {
  "README.md": headlinesOf,
  "bench/README.md": markdownOf,
  "docs/guides/costs.md": boundsOf,
};

/** Writes the results into all documents that publish them, in the project's folder `root`. */
export function writeTables(results: Results, root: string): void {
  for (const [path, textOf] of Object.entries(PUBLISHED_TABLES)) {
    writeBetweenMarkers(join(root, path), textOf(results));
  }
}

/** The table of the guide on costs. */
export function boundsOf({ rows }: Pick<Results, "rows">): string {
  return besideBounds("row", rowsNamed(rows, PROMISED_ROWS), ({ value }) => shown(value));
}

/** The tables of the README. */
export function headlinesOf({ rows }: Pick<Results, "rows">): string {
  return [
    besideTable(
      rows.filter((row) => HEADLINES.has(baseName(row))),
      HEADLINE_SIDES,
    ),
    besideBounds("what a prompt costs", rowsNamed(rows, PROMPT_ROWS), withUnit),
  ].join("\n\n");
}

function withUnit({ value, unit }: Row): string {
  return `${shown(value)} ${unit}`;
}

function rowsNamed(rows: readonly Row[], names: readonly string[]): readonly Row[] {
  return names.flatMap((name) => rows.find((row) => row.name === name) ?? []);
}

function besideBounds(head: string, rows: readonly Row[], textOf: (row: Row) => string): string {
  return table(
    [head, "measured", "at most"],
    rows.map((row) => [row.name, textOf(row), String(row.goal)]),
  );
}

function writeBetweenMarkers(path: string, text: string): void {
  const { before, after } = aroundFigures(path);
  writeFileSync(path, `${before}\n\n${text}\n\n${after}`);
}

/** The figures that a document has. */
export function figuresIn(path: string): string {
  return aroundFigures(path).figures.trim();
}

function aroundFigures(path: string) {
  const whole = readFileSync(path, "utf8");
  const [begin, end] = [whole.indexOf(BEGIN) + BEGIN.length, whole.indexOf(END)];
  if (begin < BEGIN.length || end < begin) throw new Error(`${path} has no place for the figures.`);
  return {
    before: whole.slice(0, begin),
    figures: whole.slice(begin, end),
    after: whole.slice(end),
  };
}

export function markdownOf(results: Results): string {
  const { rows, curves, texts, versions, machine } = results;
  const sections = [
    `Measured on ${listed(machine)}; versions: ${listed(versions)}.`,
    table(
      ["row", "value", "range", "goal", "met"],
      rows.filter(({ goal }) => goal !== null).map(goalCells),
    ),
    besideTable(rows),
    ...(curves.length === 0 ? [] : [curveTable(curves)]),
    ...Object.values(texts),
  ];
  return sections.join("\n\n");
}

function listed(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
}

function goalCells({ name, value, unit, low, high, goal, met }: Row): readonly string[] {
  const range = low === undefined || high === undefined ? "" : `${shown(low)} to ${shown(high)}`;
  return [name, `${shown(value)} ${unit}`, range, String(goal), met === true ? "yes" : "**no**"];
}

/** The values of each side; one line for all ratios of the same samples. */
function besideTable(rows: readonly Row[], chosen?: readonly string[]): string {
  const beside = new Map(
    rows.filter(({ sides }) => sides !== undefined).map((row) => [baseName(row), row]),
  );
  const present = [...beside.values()].flatMap(({ sides = {} }) => Object.keys(sides));
  const names = chosen ?? new Set(present);
  const lines = Array.from(beside, ([name, { sides = {}, sidesUnit, unit }]) => [
    `${name}, ${sidesUnit ?? unit}`,
    ...Array.from(names, (side) => {
      const spread = sides[side];
      return spread === undefined ? "" : shownSpread(spread);
    }),
  ]);
  return table(["beside each other", ...names], lines);
}

export function baseName({ name }: Pick<Row, "name">): string {
  return name.replace(/: against .*$/u, "");
}

function curveTable(curves: readonly Curve[]): string {
  const lines = curves.flatMap(({ name, x, unit, lines, exponents }) =>
    Object.entries(lines).map(([line, points]) => [
      `${name}: ${line}`,
      x,
      points.map((point) => `${shown(point.x)}: ${shownSpread(point)}`).join(" · "),
      unit,
      shown(exponents[line] ?? Number.NaN),
    ]),
  );
  return table(["growth", "of", "medians (range)", "unit", "exponent"], lines);
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const all = [head, head.map(() => "---"), ...lines];
  return all.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
