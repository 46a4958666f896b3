import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Interval, measures, type Measures, type Results, type Unit } from "./results.ts";

/** Writes `results.json`, `results.md` and `right.svg` into a folder. */
export function writeReport(folder: string, results: Results): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "results.json"), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(folder, "results.md"), markdownReport(results));
  writeFileSync(join(folder, "right.svg"), chartOf(results));
}

export function markdownReport(results: Results): string {
  const { arms, families } = results;
  const kinds = [...new Set(families.map(({ family }) => family))];
  const sections = [
    "## Arms",
    tableOf(results, [
      ["tasks", ...arms.map(({ tasks }) => String(tasks))],
      ...Object.entries(measures).map(([name, [title, unit]]) => [
        title,
        ...arms.map((row) => shownInterval(row[name as keyof Measures], unit)),
      ]),
    ]),
    "## Right, by kind of task",
    tableOf(
      results,
      kinds.map((kind) => [
        kind,
        ...arms.map(({ arm }) => {
          const row = families.find((one) => one.family === kind && one.arm === arm);
          return shownInterval(row?.right, "share");
        }),
      ]),
    ),
  ];
  return `${[`# ${results.about.model}`, ...notesOf(results), ...sections].join("\n\n")}\n`;
}

function tableOf({ arms }: Results, rows: readonly (readonly string[])[]): string {
  const head = ["", ...arms.map(({ arm }) => arm)];
  const all = [head, head.map(() => "---"), ...rows];
  return all.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

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

const WIDTH = 700;
const LEFT = 150;
const RIGHT = 240;
const TOP = 44;
const ROW = 26;
const COLORS = ["#6b7280", "#b45309", "#7c3aed", "#0f766e", "#1d4ed8"];

/** Draws the share of the tasks that are right, with its interval for each arm, as a whole SVG document. */
function chartOf({ arms, about }: Results): string {
  const x = (share: number) => (LEFT + share * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const marks = arms.flatMap(({ arm, right }, index) => {
    if (right === undefined) return [];
    const y = TOP + index * ROW;
    const color = COLORS[index % COLORS.length];
    return [
      `<text x="${LEFT - 10}" y="${y + 4}" text-anchor="end" fill="#374151">${arm}</text>`,
      `<line x1="${x(right.low)}" y1="${y}" x2="${x(right.high)}" y2="${y}" stroke="${color}" stroke-width="2"/>`,
      `<circle cx="${x(right.value)}" cy="${y}" r="5" fill="${color}"/>`,
      `<text x="${WIDTH - RIGHT + 14}" y="${y + 4}" fill="#374151">${shownInterval(right, "share")}</text>`,
    ];
  });
  const height = TOP + arms.length * ROW;
  const title = `Right: ${about.model.replaceAll(/[<>&"]/gu, " ")}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="12"><title>${title}</title><rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="14" font-weight="600" fill="#111827">${title}</text>${marks.join("")}</svg>\n`;
}

function shownInterval(interval: Interval | undefined, unit: Unit): string {
  if (interval === undefined) return "–";
  const { value, low, high } = interval;
  const own = shownValue(value, unit);
  if (low === high) return own;
  return `${own} (${shownValue(low, unit)} to ${shownValue(high, unit)})`;
}

export function shownValue(value: number, unit: Unit): string {
  switch (unit) {
    case "share":
      return `${shownNumber(value * 100)} %`;
    case "dollars":
      return `$${shownNumber(value)}`;
    case "number":
      return shownNumber(value);
  }
}

/** Three significant digits; numbers from a hundred on are whole. */
function shownNumber(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}
