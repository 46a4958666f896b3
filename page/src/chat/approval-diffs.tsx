import type { VariableDiff } from "../../../src/tool/policy.ts";
import { plural } from "../words.ts";
import "./approval-diffs.css";

/** Shows the diffs of edited variables in the input. */
export function ApprovalDiffs({ diffs }: { readonly diffs: readonly VariableDiff[] }) {
  return diffs.map((diff) => <VariableChanges key={diff.name} changes={diff} />);
}

function VariableChanges({ changes }: { readonly changes: VariableDiff }) {
  const { name, version, from, diff, more = 0, withheld } = changes;
  const since = from?.name === name ? `version ${from.version}` : `$${from?.name}`;
  const title = `$${name}, version ${version}, was edited`;
  if (withheld !== undefined || diff === undefined || from === undefined) {
    return (
      <p className="tool-note">
        {title}. {WITHHELD[withheld ?? "gone"]}
      </p>
    );
  }
  const lines = diff.split("\n").slice(0, -1);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  const isOlder = from.version > 1;
  return (
    <details className="diff">
      <summary className="diff-summary">
        {title}: changes since {since}{" "}
        <span className="diff-counts">
          +{count("+")} −{count("-")}
          {more > 0 && " …"}
        </span>
      </summary>
      <pre className="tool-json" role="group" tabIndex={0} aria-label={`Changes of ${name}`}>
        {lines.map((line, index) => (
          <Line key={index} line={line} />
        ))}
      </pre>
      {more > 0 && <p className="tool-note">and {plural(more, "more line")}</p>}
      {isOlder && <p className="tool-note">Changes before {since} are not shown.</p>}
    </details>
  );
}

const WITHHELD = {
  sealed: "It contains a sealed value, so its changes are not shown.",
  too_large: "It is too large to be compared.",
  gone: "The version that it was edited from no longer exists.",
} as const;

/** The sign at the start of a line carries the same information as its colour. */
function Line({ line }: { readonly line: string }) {
  if (line.startsWith("+")) return <ins className="diff-line diff-added">{line}</ins>;
  if (line.startsWith("-")) return <del className="diff-line diff-removed">{line}</del>;
  return <span className={`diff-line${line.startsWith("@@") ? " diff-hunk" : ""}`}>{line}</span>;
}
