import { inOneLine } from "../value/characters.ts";
import type { VariableInfo } from "./variable.ts";

/**
 * Summarizes variables as Markdown for a model or a person: type, items, description, time and preview of
 * each, but no values. `last`: the requested number of variables, if any.
 */
export function summaryOf(variables: readonly Summarized[], last?: number): string {
  const title = last === undefined ? "# Variables Summary" : `# Last ${last} Variables Summary`;
  const sections = variables.map(sectionOf);
  const body = sections.length === 0 ? ["No variables."] : sections;
  return `${[title, ...body].join("\n\n")}\n`;
}

/** The content of a summary. `type`, `count` or `preview` are absent if the reader may not see them. */
export type Summarized = Pick<VariableInfo, "name" | "description" | "tool" | "createdAt"> &
  Partial<Pick<VariableInfo, "type" | "count" | "preview">>;

function sectionOf({ name, type, count, description, tool, createdAt, preview }: Summarized) {
  const about = description ?? (tool === undefined ? "" : `Result of ${tool}`);
  return [
    `## ${name}`,
    "",
    `- Type: ${type ?? "hidden"}`,
    `- Items: ${count ?? "hidden"}`,
    `- Description: ${inOneLine(about)}`,
    `- Created: ${createdAt.slice(0, 19).replace("T", " ")}`,
    `- Value Preview: ${preview ?? "hidden"}`,
  ].join("\n");
}
