import { type ReactNode, useState } from "react";
import type { ApprovalRequest, VariableDiff } from "../../../src/tool/policy.ts";
import { Code, SubmitButtons } from "../controls.tsx";
import { plural, shortened } from "../words.ts";
import type { AskingPart } from "./tool-part.ts";
import "./approval-diffs.css";
import "./approval-sizes.css";

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
      <h2 className="tool-title">What would run</h2>
      <Code label="Input with its values">
        {input === undefined ? JSON.stringify(part.input, null, 2) : pretty(input)}
      </Code>
      <ApprovalSizes input={part.input} sizes={sizes} />
      {diffs.map((diff) => (
        <VariableChanges key={diff.name} changes={diff} />
      ))}
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

/** A long text is clipped, so it may not be JSON. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

interface ApprovalSizesProps {
  /** The input as the model wrote it. */
  readonly input: unknown;
  readonly sizes: NonNullable<Asked["sizes"]>;
}

const MAX_WRITTEN_CHARS = 60;

/** Lists each parameter of a waiting call as the model wrote it, with the size of its value. */
function ApprovalSizes({ input, sizes }: ApprovalSizesProps): ReactNode {
  if (sizes.length === 0) return null;
  const written = new Map(Object.entries({ ...(input as object | undefined) }));
  const wordsOf = (value: unknown) =>
    shortened(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), MAX_WRITTEN_CHARS);
  return (
    <table className="approval-sizes">
      <caption className="unseen">Parameters and their sizes</caption>
      <thead>
        <tr>
          <th scope="col">Parameter</th>
          <th scope="col">The model wrote</th>
          <th scope="col">Size</th>
        </tr>
      </thead>
      <tbody>
        {sizes.map(({ name, chars }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <code>{wordsOf(written.get(name))}</code>
            </td>
            <td>{plural(chars, "character")}</td>
          </tr>
        ))}
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
    <details className="diff">
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
