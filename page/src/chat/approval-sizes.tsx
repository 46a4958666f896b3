import type { ReactNode } from "react";
import type { ApprovalRequest } from "../../../src/tool/policy.ts";
import { plural } from "../words.ts";
import "./approval-sizes.css";

export type Sizes = NonNullable<ApprovalRequest["sizes"]>;

interface ApprovalSizesProps {
  /** The input as the model wrote it. */
  readonly input: unknown;
  readonly sizes: Sizes;
}

/** Lists each parameter of a waiting call as the model wrote it, with the size of its value. */
export function ApprovalSizes({ input, sizes }: ApprovalSizesProps): ReactNode {
  if (sizes.length === 0) return null;
  const written =
    typeof input === "object" && input !== null ? new Map(Object.entries(input)) : null;
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
              <code>{shortOf(written?.get(name))}</code>
            </td>
            <td>{plural(chars, "character")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const MAX_WRITTEN_CHARS = 60;

function shortOf(written: unknown): string {
  const text = typeof written === "string" ? written : (JSON.stringify(written) ?? "");
  return text.length > MAX_WRITTEN_CHARS ? `${text.slice(0, MAX_WRITTEN_CHARS)}…` : text;
}
