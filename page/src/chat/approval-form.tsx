import { useRef } from "react";
import type { JsonObject } from "../../../src/value/json.ts";
import type { ApprovalRequest, VariableDiff } from "../../../src/tool/policy.ts";
import { Code, SubmitButtons } from "../controls.tsx";
import { DiffLines } from "../diff-lines.tsx";
import { useAttempt } from "../hooks.ts";
import { jsonIn, plural, problemWords, shortened } from "../words.ts";
import type { AskingPart, ToolPart } from "./tool-part.ts";
import "./approval-table.css";

export type Decide = (decision: {
  readonly id: string;
  readonly approved: boolean;
  readonly reason?: string;
  /** In place of the one that waits. */
  readonly input?: JsonObject;
}) => Promise<unknown>;

interface ApprovalFormProps {
  readonly part: AskingPart;
  readonly decide: Decide;
}

/** What a person was asked about a call. The server sends what the types declare. */
export const askedAbout = ({ approval }: ToolPart): Partial<ApprovalRequest> => ({
  ...(approval?.descriptor as Partial<ApprovalRequest> | undefined),
});

/** A call that needs approval: its input with values, which may be changed, and buttons to approve or deny. */
export function ApprovalForm({ part, decide }: ApprovalFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [trouble, attempt] = useAttempt();
  const { input, sizes = [], diffs = [], changed, ...asked } = askedAbout(part);
  // A long text is clipped, so it may not be JSON.
  const values = input === undefined ? part.input : jsonIn(input);
  const [shown, own] = [fieldsOf(values), fieldsOf(changed?.input ?? part.input)];
  const answer = (approved: boolean) => {
    const given = new FormData(form.current ?? undefined);
    const reason = String(given.get("reason")).trim();
    const changes = [...shown].flatMap(([name, value]) => {
      const text = String(given.get(`input ${name}`) ?? wordsOf(value));
      const typed = typeof value === "string" ? text : (jsonIn(text) ?? text);
      return text === wordsOf(value) ? [] : [[name, typed] as const];
    });
    const whole = Object.fromEntries([...own, ...changes]) as JsonObject;
    const decision = { id: part.approval.id, approved, ...(reason !== "" && { reason }) };
    const isChanged = approved && changes.length > 0;
    void attempt(() => decide({ ...decision, ...(isChanged && { input: whole }) }));
  };
  return (
    <form
      ref={form}
      className="approval"
      onSubmit={(event) => {
        event.preventDefault();
        answer(true);
      }}
    >
      <p className="approval-why">{asked.reason ?? "This call runs when you approve it."}</p>
      {diffs.map((diff) => (
        <VariableChanges key={diff.name} changes={diff} />
      ))}
      {sizes.length > 0 && (
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
              const value = wordsOf(shown.get(name));
              const written = wordsOf(own.get(name));
              const about = { "aria-label": name, name: `input ${name}` };
              const field = { className: "field", defaultValue: value, ...about };
              return (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>
                    {isField(shown.get(name)) ? (
                      <input {...field} />
                    ) : (
                      `${cut(value)} (${plural(chars, "character")})`
                    )}
                  </td>
                  <td>{written === value ? <i>the same</i> : <code>{cut(written)}</code>}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      <label className="approval-label">
        Reason (optional)
        <input className="field" name="reason" maxLength={1_000} />
      </label>
      {trouble != null && <p role="alert">{problemWords(trouble)}</p>}
      <SubmitButtons word="Approve" cancelWord="Deny" onCancel={() => answer(false)} />
      <details className="approval-json" open={sizes.length === 0}>
        <summary>As JSON</summary>
        <Code label="Input with its values">
          {values === undefined ? input : JSON.stringify(values, null, 2)}
        </Code>
      </details>
    </form>
  );
}

const cut = (text: string) => shortened(text, 240);
const fieldsOf = (input: unknown): ReadonlyMap<string, unknown> =>
  new Map(Object.entries({ ...(input as object | undefined) }));
const wordsOf = (value: unknown) =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");
/** Short scalars can be changed. */
const isField = (value: unknown) => typeof value !== "object" && /^.{1,240}$/u.test(wordsOf(value));

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
      <DiffLines label={`Changes of ${name}`} lines={lines} />
      {more > 0 && <p className="tool-note">and {plural(more, "more line")}</p>}
      {from.version > 1 && <p className="tool-note">Changes before {since} are not shown.</p>}
    </details>
  );
}
