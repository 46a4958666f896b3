import type { Results } from "./results.ts";
import { notesOf, type Table, tablesOf } from "./tables.ts";

/** Prints the results as Markdown. */
export function markdownReport(results: Results): string {
  const sections = tablesOf(results).flatMap((table) => [
    `## ${table.title}`,
    markdownTable(table),
  ]);
  return `${[`# ${results.about.model}`, ...notesOf(results), ...sections].join("\n\n")}\n`;
}

export function markdownTable({ head, rows }: Pick<Table, "head" | "rows">): string {
  const all = [head, head.map(() => "---"), ...rows];
  return all.map((cells) => `| ${cells.map(escaped).join(" | ")} |`).join("\n");
}

function escaped(cell: string): string {
  return cell.replaceAll("|", "\\|").replaceAll("\n", " ");
}
