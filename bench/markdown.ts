import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Results, type Row, shown, shownSpread } from "./results.ts";

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
];

/** Documents with published figures, and what each has between its markers. */
export const PUBLISHED_TABLES: Readonly<Record<string, (results: Results) => string>> = {
  "README.md": headlinesOf,
  "bench/README.md": markdownOf,
};

/** Writes the results into all documents that publish them, in the project's folder `root`. */
export function writeTables(results: Results, root: string): void {
  for (const [path, textOf] of Object.entries(PUBLISHED_TABLES)) {
    writeBetweenMarkers(join(root, path), textOf(results));
  }
}

/** The tables of the README. */
export function headlinesOf({ rows }: Pick<Results, "rows">): string {
  return [
    besideTable(
      rows.filter((row) => HEADLINES.has(baseName(row))),
      HEADLINE_SIDES,
    ),
    table(
      ["what a prompt costs", "measured"],
      PROMPT_ROWS.flatMap((name) => rows.find((row) => row.name === name) ?? []).map(costCells),
    ),
  ].join("\n\n");
}

function costCells({ name, value, unit }: Row): readonly string[] {
  return [name, `${shown(value)} ${unit}`];
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
  const { rows, versions, machine } = results;
  const sections = [
    `Measured on ${listed(machine)}; versions: ${listed(versions)}.`,
    table(
      ["row", "value", "range", "goal", "met"],
      rows.filter(({ goal }) => goal !== null).map(goalCells),
    ),
    besideTable(rows),
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

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const all = [head, head.map(() => "---"), ...lines];
  return all.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
