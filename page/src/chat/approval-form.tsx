import { type ReactNode, useState } from "react";
import type { ApprovalRequest, VariableDiff } from "../../../src/tool/policy.ts";
import { Code, SubmitButtons } from "../controls.tsx";
import { jsonIn, plural, shortened } from "../words.ts";
import type { AskingPart } from "./tool-part.ts";
import "./approval-diffs.css";
import "./approval-table.css";

export type Decide = (decision: {
  readonly id: string;
  readonly approved: boolean;
  readonly reason?: string;
}) => void;

interface ApprovalFormProps {
  readonly part: AskingPart;
  readonly decide: Decide;
}

type Asked = Partial<Pick<ApprovalRequest, "reason" | "input" | "sizes" | "diffs">>;

/** A call that needs approval: its input with values, and buttons to approve or deny. */
export function ApprovalForm({ part, decide }: ApprovalFormProps) {
  const [reason, setReason] = useState("");
  const { id, descriptor } = part.approval;
  // The server sends what the types declare.
  const { input, sizes = [], diffs = [], ...asked } = { ...(descriptor as Asked | undefined) };
  // A long text is clipped, so it may not be JSON.
  const values = input === undefined ? part.input : jsonIn(input);
  const answer = (approved: boolean) =>
    decide({ id, approved, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) });
  return (
    <form
      className="approval"
      onSubmit={(event) => {
        event.preventDefault();
        answer(true);
      }}
    >
      <p className="approval-why">{asked.reason ?? "This call runs when you approve it."}</p>
      <ApprovalTable written={part.input} values={values} sizes={sizes} />
      {diffs.map((diff) => (
        <VariableChanges key={diff.name} changes={diff} />
      ))}
      <details className="approval-json" open={values === undefined || sizes.length === 0}>
        <summary>As JSON</summary>
        <Code label="Input with its values">
          {values === undefined ? input : JSON.stringify(values, null, 2)}
        </Code>
      </details>
      <label className="approval-label">
        Reason (optional)
        <input
          className="field"
          value={reason}
          maxLength={1_000}
          onChange={({ target }) => setReason(target.value)}
        />
      </label>
      <SubmitButtons word="Approve" cancelWord="Deny" onCancel={() => answer(false)} />
    </form>
  );
}

interface ApprovalTableProps {
  /** The input as the model wrote it, and with its values, if they are known. */
  readonly written: unknown;
  readonly values: unknown;
  readonly sizes: NonNullable<Asked["sizes"]>;
}

const MAX_CELL_CHARS = 240;

/** Lists each parameter of a waiting call with its value, and what the model wrote for it. */
function ApprovalTable({ written, values, sizes }: ApprovalTableProps): ReactNode {
  if (sizes.length === 0) return null;
  const wordsIn = (all: unknown, name: string) => {
    const value = new Map(Object.entries({ ...(all as object | undefined) })).get(name);
    return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  };
  return (
    <table className="approval-table">
      <caption className="unseen">What would run</caption>
      <thead>
        <tr>
          <th scope="col">Parameter</th>
          <th scope="col">Value</th>
          <th scope="col">The model wrote</th>
        </tr>
      </thead>
      <tbody>
        {sizes.map(({ name, chars }) => {
          const value = wordsIn(values, name);
          const own = wordsIn(written, name);
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                {shortened(value, MAX_CELL_CHARS)}{" "}
                {(value === "" || value.length > MAX_CELL_CHARS) && (
                  <i>{plural(chars, "character")}</i>
                )}
              </td>
              <td>
                {own === value ? <i>the same</i> : <code>{shortened(own, MAX_CELL_CHARS)}</code>}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const WITHHELD = {
  sealed: "It contains a sealed value, so its changes are not shown.",
  too_large: "It is too large to be compared.",
  gone: "The version that it was edited from no longer exists.",
} as const;

/** Shows the changes of an edited variable in the input. */
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
  return (
    <details className="diff" open>
      <summary className="diff-summary">
        {title}: changes since {since}{" "}
        <span className="diff-counts">
          +{count("+")} −{count("-")}
          {more > 0 && " …"}
        </span>
      </summary>
      <Code label={`Changes of ${name}`}>
        {lines.map((line, index) => (
          <Line key={index} line={line} />
        ))}
      </Code>
      {more > 0 && <p className="tool-note">and {plural(more, "more line")}</p>}
      {from.version > 1 && <p className="tool-note">Changes before {since} are not shown.</p>}
    </details>
  );
}

/** The sign at the start of a line carries the same information as its colour. */
function Line({ line }: { readonly line: string }) {
  if (line.startsWith("+")) return <ins className="diff-line diff-added">{line}</ins>;
  if (line.startsWith("-")) return <del className="diff-line diff-removed">{line}</del>;
  return <span className={`diff-line${line.startsWith("@@") ? " diff-hunk" : ""}`}>{line}</span>;
}
