import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chartsOf } from "./chart.ts";
import { markdownReport } from "./markdown-report.ts";
import { page } from "./page.ts";
import type { Results } from "./results.ts";

/** Writes `results.json`, `results.md`, `results.html` and a chart for each measure into a folder. */
export function writeReport(folder: string, results: Results): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "results.json"), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(folder, "results.md"), markdownReport(results));
  writeFileSync(join(folder, "results.html"), page(results));
  for (const { name, svg } of chartsOf(results)) writeFileSync(join(folder, `${name}.svg`), svg);
}
