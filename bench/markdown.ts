import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Results, type Row, shown, shownSpread } from "./results.ts";

const BEGIN = "<!-- figures: written by npm run bench:peers -->";
const END = "<!-- end of figures -->";

/** Rows and sides that the README shows. */
const HEADLINES = new Set([
  "prompt after a large result: characters of messages",
  "rows written: turn of 400 deltas",
  "first part",
  "whole turn",
  "many at once",
]);
const HEADLINE_SIDES = ["ours", "bare", "ai-chat", "think"];
/** Documents with published figures, and what each has between its markers. */
const PUBLISHED_TABLES: Readonly<Record<string, (results: Results) => string>> = {
  "README.md": headlinesOf,
  "bench/README.md": markdownOf,
};

/** Writes the results into all documents that publish them, in the project's folder `root`. */
export function writeTables(results: Results, root: string): void {
  for (const [path, textOf] of Object.entries(PUBLISHED_TABLES)) {
    writeBetweenMarkers(join(root, path), textOf(results));
  }
}

/** The table of the README. */
function headlinesOf({ rows }: Pick<Results, "rows">): string {
  const chosen = rows.filter((row) => HEADLINES.has(baseName(row)));
  return besideTable(chosen, HEADLINE_SIDES);
}

function writeBetweenMarkers(path: string, text: string): void {
  const whole = readFileSync(path, "utf8");
  const [begin, end] = [whole.indexOf(BEGIN) + BEGIN.length, whole.indexOf(END)];
  if (begin < BEGIN.length || end < begin) throw new Error(`${path} has no place for the figures.`);
  writeFileSync(path, `${whole.slice(0, begin)}\n\n${text}\n\n${whole.slice(end)}`);
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

function baseName({ name }: Pick<Row, "name">): string {
  return name.replace(/: against .*$/u, "");
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const all = [head, head.map(() => "---"), ...lines];
  return all.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
