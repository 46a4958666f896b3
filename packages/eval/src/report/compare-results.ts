import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Cell } from "../runner/cell.ts";
import { shownInterval } from "./format.ts";
import { markdownTable } from "./markdown-report.ts";
import type { Results } from "./results.ts";
import { compareCells } from "./summarize.ts";

/** Compares two runs, arm by arm, on the tasks that both have. Returns Markdown. */
export function compareResults(first: string, second: string): string {
  const [a, b] = [readResults(first), readResults(second)];
  const [own, other] = [nameOf(a), nameOf(b)];
  const arms = a.arms.map(({ arm }) => arm).filter((arm) => b.arms.some((row) => row.arm === arm));
  const rows = arms.map((arm) => {
    const of = ({ cells }: Results): readonly Cell[] => cells.filter((cell) => cell.arm === arm);
    const { tasks, right, won, lost, cost, tokens } = compareCells(of(a), of(b), {
      arm: own,
      against: other,
    });
    return [
      arm,
      String(tasks),
      shownInterval(right, "difference"),
      String(won),
      String(lost),
      shownInterval(cost, "ratio"),
      shownInterval(tokens, "ratio"),
    ];
  });
  const head = ["arm", "tasks", "right", `only ${own}`, `only ${other}`, "cost", "tokens"];
  return `${own} against ${other}, on the tasks that both have.\n\n${markdownTable({ head, rows })}\n`;
}

function nameOf({ about: { model, variant } }: Results): string {
  return variant === undefined ? model : `${model} with ${variant}`;
}

/** Reads `results.json`, also of a folder. */
function readResults(path: string): Results {
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  // `writeReport` wrote it.
  return JSON.parse(readFileSync(isFolder ? join(path, "results.json") : path, "utf8")) as Results;
}
