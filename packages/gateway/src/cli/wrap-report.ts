import * as limits from "../../../../src/limits.ts";
import { LineDiff, lineSegments } from "../../../../src/internal-tool.ts";
import type { Change, WrapReport } from "./wrap-file.ts";

/** Returns the report as lines for a person, for a dry run with a diff of each file. */
export function linesOf(report: WrapReport, dryRun: boolean): string {
  const { notes, changes } = report;
  return [summaryOf(report, dryRun), ...notes, ...(dryRun ? changes.map(diffOf) : [])].join("\n");
}

function summaryOf({ file, servers, outcome }: WrapReport, dryRun: boolean): string {
  const would = dryRun ? "would be " : "";
  const names = servers.length === 0 ? "the gateway's entry" : servers.join(", ");
  switch (outcome) {
    case "unchanged":
      return `${file}: nothing to do.`;
    case "merged":
      return `${file}: the gateway ${dryRun ? "would be" : "was"} taken out (${names}), but this is not the original.`;
    default:
      return `${file}: ${would}${outcome} (${names}).`;
  }
}

function diffOf({ file, before, after }: Change): string {
  if (before === undefined) return `+++ ${file} would be written, with the original.`;
  if (after === undefined) return `--- ${file} would be removed.`;
  const diff = new LineDiff(limits.maxDiffLines);
  for (const segment of lineSegments(before, after)) diff.add(segment);
  const { diff: lines, more = 0 } = diff.end();
  const rest = more > 0 ? `\n… and ${more} more lines` : "";
  return `--- ${file}\n+++ ${file}\n${lines}${rest}`;
}
