import { Code } from "./controls.tsx";
import "./diff-lines.css";

interface DiffLinesProps {
  readonly label: string;
  /** Lines of a unified diff. */
  readonly lines: readonly string[];
}

export function DiffLines({ label, lines }: DiffLinesProps) {
  return (
    <Code label={label}>
      {lines.map((line, index) => (
        <Line key={index} line={line} />
      ))}
    </Code>
  );
}

/** The sign at the start of a line carries the same information as its colour. */
function Line({ line }: { readonly line: string }) {
  if (line.startsWith("+")) return <ins className="diff-line diff-added">{line}</ins>;
  if (line.startsWith("-")) return <del className="diff-line diff-removed">{line}</del>;
  return <span className={`diff-line${line.startsWith("@@") ? " diff-hunk" : ""}`}>{line}</span>;
}

/** Most lines of each side that are shown. */
const MOST_LINES = 60;

/** Returns the lines between the first and the last that differ, those before and those after the change. */
export function changedLines(before: string, after: string): readonly string[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start++;
  let end = 0;
  while (end < shorter - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  const side = (sign: string, lines: readonly string[]) => {
    const changed = lines.slice(start, lines.length - end);
    const more = changed.length - MOST_LINES;
    const shown = changed.slice(0, MOST_LINES).map((line) => `${sign}${line}`);
    return more > 0 ? [...shown, `${sign}… ${more} more`] : shown;
  };
  return [`@@ line ${start + 1} @@`, ...side("-", old), ...side("+", now)];
}
