import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readResults } from "../../bench/results.ts";

const root = join(import.meta.dirname, "../..");
const { rows } = readResults(join(root, "bench/results.json"));
const lines = readFileSync(join(root, "docs/guides/costs.md"), "utf8").split("\n");

/** Returns the cells of the guide's table with this first cell, including its header. */
function tableOf(head: string): readonly (readonly string[])[] {
  const first = lines.findIndex((line) => line.startsWith(`| ${head} |`));
  const table = lines.slice(first, lines.indexOf("", first));
  return table.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const [[, ...sides] = [], , ...table] = tableOf("figure");

/** Formats a value with as many decimals as the guide shows. */
function written(value: number, like: string): string {
  const digits = like.includes(".") ? 1 : 0;
  return value.toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

it.each(table)("%s: the guide has the benchmark's figures", (name, ...cells) => {
  const found = rows.find((row) => row.name === name)?.sides ?? {};
  expect(found.ours).toBeDefined();
  // A run without the peers has no figures for them.
  const known = sides.flatMap((side, at) => {
    const { median } = found[side] ?? {};
    return median === undefined ? [] : [{ side, figure: cells[at] ?? "", median }];
  });
  expect(known.map(({ side, figure }) => [side, figure])).toEqual(
    known.map(({ side, figure, median }) => [side, written(median, figure)]),
  );
});

const [, , ...million] = tableOf("for a million turns");
const millionSides = ["ours", "kept", "ai-chat", "think"] as const;

it.each(millionSides.map((side, at) => ({ side, at: at + 1 })))(
  "a million turns of $side: the table has the measured rows, and its sum is right",
  ({ side, at }) => {
    const [written, requests, workers, seconds, ...dollars] = million.map((line) =>
      Number(line[at]),
    );
    const measured = (name: string) =>
      rows.find((row) => row.name === name)?.sides?.[side]?.median ?? Number.NaN;
    expect(written).toBe(measured("rows written: turn of 400 deltas"));
    const questions = workers === 0 ? 1 / 20 : 1;
    expect(requests).toBe(questions + measured("rows written: alarms in a turn"));
    expect(seconds).toBe(8 * 0.128);
    const costs = [written, (requests ?? 0) * 0.15 + (workers ?? 0) * 0.3, (seconds ?? 0) * 12.5];
    const all = costs.reduce<number>((sum, cost = Number.NaN) => sum + cost, 0);
    for (const [line, cost = Number.NaN] of [...costs, all].entries()) {
      expect(dollars[line]).toBeCloseTo(cost, 1);
    }
  },
);

it("shows seven rows", () => {
  expect(table).toHaveLength(7);
});
