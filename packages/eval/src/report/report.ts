import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chartOf } from "./chart.ts";
import { shownInterval, shownSize, type Unit } from "./format.ts";
import type { Measures, Results } from "./results.ts";

interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const COLUMNS: readonly (readonly [title: string, key: keyof Measures, unit: Unit])[] = [
  ["right", "right", "share"],
  ["bytes intact", "intact", "share"],
  ["copy errors per 1,000 characters", "copyErrors", "number"],
  ["input tokens", "input", "number"],
  ["of them cached", "cached", "number"],
  ["output tokens", "output", "number"],
  ["cost", "cost", "dollars"],
  ["model calls", "calls", "number"],
  ["seconds", "seconds", "number"],
  ["references used", "usedReferences", "share"],
  ["wrong references", "wrongReferences", "share"],
  ["recovered", "recovered", "share"],
  ["steps to recover", "recoverySteps", "number"],
];

/** Writes `results.json`, `results.md` and `right.svg` into a folder. */
export function writeReport(folder: string, results: Results): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "results.json"), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(folder, "results.md"), markdownReport(results));
  writeFileSync(join(folder, "right.svg"), chartOf(results));
}

/** Prints the results as Markdown. */
export function markdownReport(results: Results): string {
  const tables = [mainTable, comparisonTable, familyTable, sizeTable].map((of) => of(results));
  const sections = tables.flatMap((table) => [`## ${table.title}`, markdownTable(table)]);
  return `${[`# ${results.about.model}`, ...notesOf(results), ...sections].join("\n\n")}\n`;
}

function markdownTable({ head, rows }: Table): string {
  const all = [head, head.map(() => "---"), ...rows];
  return all.map((cells) => `| ${cells.map(escaped).join(" | ")} |`).join("\n");
}

function escaped(cell: string): string {
  return cell.replaceAll("|", "\\|").replaceAll("\n", " ");
}

function mainTable({ arms }: Results): Table {
  return {
    title: "Arms",
    head: ["", ...arms.map(({ arm }) => arm)],
    rows: [
      ["tasks", ...arms.map(({ tasks }) => String(tasks))],
      ["did not fit", ...arms.map(({ didNotFit }) => String(didNotFit))],
      ...COLUMNS.map(([title, key, unit]) => [
        title,
        ...arms.map((row) => shownInterval(row[key], unit)),
      ]),
    ],
  };
}

function comparisonTable({ comparisons }: Results): Table {
  return {
    title: "The same tasks, pair by pair",
    head: ["", "tasks", "right", "only it is right", "only the other is", "cost", "tokens"],
    rows: comparisons.map(({ arm, against, tasks, right, won, lost, cost, tokens }) => [
      `${arm} against ${against}`,
      String(tasks),
      shownInterval(right, "difference"),
      String(won),
      String(lost),
      shownInterval(cost, "ratio"),
      shownInterval(tokens, "ratio"),
    ]),
  };
}

function familyTable({ families, arms }: Results): Table {
  const names = [...new Set(families.map(({ family }) => family))];
  return {
    title: "Right, by kind of task",
    head: ["", ...arms.map(({ arm }) => arm)],
    rows: names.map((name) => [
      name,
      ...arms.map(({ arm }) => {
        const row = families.find((one) => one.family === name && one.arm === arm);
        return shownInterval(row?.right, "share");
      }),
    ]),
  };
}

function sizeTable({ sizes, arms }: Results): Table {
  const all = [...new Set(sizes.map(({ size }) => size))].toSorted((a, b) => a - b);
  return {
    title: "Bytes intact, by characters of the document",
    head: ["", ...arms.map(({ arm }) => arm)],
    rows: all.map((size) => [
      shownSize(size),
      ...arms.map(({ arm }) => {
        const row = sizes.find((one) => one.size === size && one.arm === arm);
        return shownInterval(row?.intact, "share");
      }),
    ]),
  };
}

/** Notes on the figures. */
function notesOf({ about }: Results): readonly string[] {
  const { model, date, byref, seed, count, isQuick, sets, price, stopped } = about;
  const tasks = `${count} of each kind from seed ${seed}${isQuick ? ", small sizes only" : ""}${sets.length === 0 ? "" : `, and ${sets.join(", ")}`}`;
  return [
    `Model: ${model}. Day: ${date}. Byref ${byref}. Tasks: ${tasks}.`,
    ...(model.startsWith("scripted:")
      ? [
          "This is a scripted model with known errors: it shows that the evaluation measures them, and says nothing about any real model.",
        ]
      : []),
    "Values are means of a task; in brackets is the interval of 95 % of 2,000 bootstrap resamples (of shares at least Wilson's). Seconds are those of the model's answers.",
    `Dollars for a million tokens (${price.of}): ${price.input} of input, ${price.cached} of cached input, ${price.output} of output.`,
    ...(stopped === undefined
      ? []
      : [`The run ended early: ${stopped} The figures are of the tasks so far.`]),
  ];
}
